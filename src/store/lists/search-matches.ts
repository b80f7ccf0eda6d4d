import { noConditions } from '../../content/filters.ts'
import { revisionColumn } from '../content/revisions.ts'
import { readTimedOut } from '../engine/database.ts'
import { createSqlBuilder, isOneOf } from '../engine/statement.ts'
import type { Matches } from './content-cache.ts'
import { all, type Listing, rowConditions } from './list-conditions.ts'

/**
 * A search reads the text of every object, and finding a word may take time proportional to the product of both lengths. So
 * it runs through a container in pieces by id, each a short statement, so that other work can run in between.
 */

/** Bytes of text in a piece, exceeded by one object at most. A million take 10 ms, at worst 40 ms. */
const pieceBytes = 1_000_000
const pieceRows = 2000
/** Time limit for all pieces of a search. */
const maxSearchMs = 15_000
/** Up to this number of matches their ids are retained, so that their pages need no further search. */
const maxKeptIds = 20_000
const idCharacters = 24

interface Piece {
  last_id: string | null
  /** Numbers of objects searched and of candidates. */
  looked_at: number
  rows_found: number
  ids: string | null
  revision: number
}

function pieceText(listing: Listing, afterId: string): { text: string; parameters: unknown[] } {
  const { group, container, query } = listing
  const draft = createSqlBuilder(group.database, true)
  const { engine, table, bind, parameters } = draft
  const [row, join, on, joined] =
    engine === 'sqlite'
      ? ['o.rowid as row_key', 'cross join', 'o.rowid = p.row_key', 'group_concat']
      : ['o.id as row_key', 'join', 'o.id = p.row_key', 'string_agg']
  const objects = `${table('objects')} as o`
  const conditions = [
    `o.container_id = ${bind(container.id)}`,
    `o.id > ${bind(afterId)}`,
    ...(query.ids ? [isOneOf(draft, 'o.id', query.ids)] : []),
  ]
  const some = `select o.id, ${row}, octet_length(o.search_text) as bytes from ${objects} where ${all(conditions)} order by o.id limit ${pieceRows}`
  const piece = `select id, row_key, sum(bytes) over (order by id rows unbounded preceding) - bytes as bytes_before from (${some}) as some_of`
  const matches = all(rowConditions(draft, listing, { alias: 'o', id: 'o.id' }))
  const text =
    `with piece as materialized (${piece}) select max(p.id) as last_id, count(*) as looked_at,` +
    ` (select count(*) from piece) as rows_found, ${joined}(case when ${matches} then p.id end, ',') as ids,` +
    ` ${revisionColumn(draft, group.groupId, 'revision')}` +
    ` from piece as p ${join} ${objects} on ${on} where p.bytes_before < ${bind(pieceBytes)}`
  return { text, parameters }
}

const countIds = (ids: string | null): number => (ids === null ? 0 : (ids.length + 1) / (idCharacters + 1))

/** All matches of a search. `onRevision` receives the revision of each piece, and may throw. */
export async function searchMatches(
  listing: Listing,
  onRevision: (revision: number) => void = () => {},
): Promise<Matches> {
  const { groupId, database } = listing.group
  return database.withLongReadPermit(groupId, async () => {
    const endMs = performance.now() + maxSearchMs
    const kept: string[] = []
    let total = 0
    for (let afterId = ''; ; ) {
      const { text, parameters } = pieceText(listing, afterId)
      const [piece] = await database.readLong<Piece>(text, parameters)
      if (!piece) throw new Error('A piece of a search has no row.')
      onRevision(piece.revision)
      total += countIds(piece.ids)
      if (piece.ids !== null && total <= maxKeptIds) kept.push(piece.ids)
      if (piece.looked_at === piece.rows_found && piece.rows_found < pieceRows) {
        const ids = total <= maxKeptIds ? kept.flatMap((some) => some.split(',')) : undefined
        return { total, ids }
      }
      if (performance.now() > endMs) throw readTimedOut()
      afterId = piece.last_id ?? ''
    }
  })
}

/** A listing of the matches by id, without the search and the filters. */
export function narrowTo(listing: Listing, { ids }: Matches): Listing {
  if (!ids) return listing
  return { ...listing, query: { ...listing.query, ...noConditions, words: [], ids } }
}
