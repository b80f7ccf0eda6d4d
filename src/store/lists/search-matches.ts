import { noConditions } from '../../content/filters.ts'
import { searchByTrigrams, trigramsOf } from '../../content/trigrams.ts'
import { revisionColumn } from '../content/revisions.ts'
import { readTimedOut } from '../engine/database.ts'
import { budgetFunction } from '../engine/sqlite/file.ts'
import { createSqlBuilder, isOneOf, type SqlBuilder } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'
import type { Matches } from './content-cache.ts'
import { all, hasWord, type Listing, rowConditions } from './list-conditions.ts'
import { findSearchIndex, type SearchIndex } from './search-index.ts'

/**
 * Finding a word in a text may take time proportional to the product of both lengths. So a search runs through its texts
 * in pieces, each a short statement, so that other work can run in between.
 */

/** Bytes of text in a piece, exceeded by one object at most. A million take 10 ms, at worst 40 ms. */
const pieceBytes = 1_000_000
const pieceRows = 2000
/** In texts that have all trigrams of the words, these are found sooner. */
const indexedPieceBytes = 4_000_000
const indexedPieceRows = 8000
/** Entries that one statement may look up in the index, which takes 30 ms at worst. */
const pieceEntries = 400_000
/** The latest entries, in which trigrams are counted to find the rarest ones. */
const sampleEntries = 2000
/** Time limit for all pieces of a search. */
const maxSearchMs = 15_000
/** Up to this number of matches their ids are retained, so that their pages need no further search. */
export const maxKeptIds = 20_000
const idCharacters = 24

/** Where a search reads texts. */
interface Texts {
  alias: string
  /** Selects the candidates. */
  from(draft: SqlBuilder): string
  conditions(draft: SqlBuilder): string[]
  /** The order of the pieces. */
  key: string
  id: string
  words: string
  /** The words that each text must be searched for. */
  uncertain: readonly string[]
  maxBytes: number
  maxRows: number
}

/** The objects themselves: for a few ids, and while the index does not have all of them. */
const textsOfObjects = ({ query }: Listing): Texts => ({
  alias: 'o',
  from: ({ table }) => `${table('objects')} as o`,
  conditions: (draft) => (query.ids ? [isOneOf(draft, 'o.id', query.ids)] : []),
  key: 'o.id',
  id: 'o.id',
  words: 'o.search_text',
  uncertain: query.words,
  maxBytes: pieceBytes,
  maxRows: pieceRows,
})

/** The entries of the index: they are smaller than objects, and those of a container are consecutive. */
const textsOfEntries = ({ query, group: { database } }: Listing): Texts => ({
  alias: 'e',
  from: ({ table }) => `${table('search_entries')} as e`,
  conditions: () => [],
  key: database.engine === 'sqlite' ? 'e.id' : 'e.object_id',
  id: 'e.object_id',
  words: 'e.words',
  uncertain: query.words,
  maxBytes: pieceBytes,
  maxRows: pieceRows,
})

/** A query of FTS5 for texts with all of these trigrams. */
const matchAll = (trigrams: readonly string[]): string =>
  trigrams.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(' AND ')

/** How often trigrams occur in a sample of a container's texts. */
async function countInSample(
  { database }: GroupStore,
  trigrams: readonly string[],
  { after, last = 0 }: SearchIndex,
): Promise<Map<string, number>> {
  const draft = createSqlBuilder(database)
  const first = bindKey(draft, Math.max(Number(after), last - sampleEntries))
  const counts = trigrams.map(
    (trigram, at) =>
      `(select count(*) from search_index where search_index match ${draft.bind(matchAll([trigram]))} and rowid > ${first} and rowid <= ${bindKey(draft, last)}) as count${at}`,
  )
  const [row] = await database.readLong<Record<string, number>>(`select ${counts.join(', ')}`, draft.parameters)
  return new Map(trigrams.map((trigram, at) => [trigram, row?.[`count${at}`] ?? 0]))
}

/** The entries that have the rarest trigrams of the words; SQLite only. */
async function indexedTexts(listing: Listing, index: SearchIndex): Promise<Texts> {
  const { words } = listing.query
  const { trigrams, uncertain } = searchByTrigrams(words, await countInSample(listing.group, trigramsOf(words), index))
  return {
    ...textsOfEntries(listing),
    from: () => 'search_index as i cross join search_entries as e on e.id = i.rowid',
    conditions: ({ bind }) => [`i.search_index match ${bind(matchAll(trigrams))}`],
    key: 'i.rowid',
    uncertain,
    maxBytes: indexedPieceBytes,
    maxRows: indexedPieceRows,
  }
}

/** A piece has keys after the first bound, and up to the second. */
interface Bounds {
  after: string | number
  upTo?: number
}

interface Piece {
  last_key: string | number | null
  /** Numbers of objects searched and of candidates. */
  looked_at: number
  rows_found: number
  ids: string | null
  total: number
  revision: number
}

/** Without the cast, SQLite would get a floating point number, with which FTS5 does not seek. */
const bindKey = ({ bind }: SqlBuilder, key: string | number): string =>
  typeof key === 'number' ? `cast(${bind(key)} as integer)` : bind(key)

/** A piece's candidates in order, and what makes one of them a match. */
interface PieceParts {
  from: string
  conditions: string
  matches: string
  bytes: string
  revision: string
}

function partsOf(draft: SqlBuilder, listing: Listing, texts: Texts, { after, upTo }: Bounds): PieceParts {
  const { alias, key, id, words, uncertain } = texts
  const inContainer = `${alias}.container_id = ${draft.bind(listing.container.id)}`
  const conditions = [
    ...(upTo === undefined ? [inContainer] : [`${key} <= ${bindKey(draft, upTo)}`]),
    `${key} > ${bindKey(draft, after)}`,
    ...texts.conditions(draft),
  ]
  const withoutWords = { ...listing, query: { ...listing.query, words: [] } }
  return {
    from: texts.from(draft),
    conditions: all(conditions),
    matches: all([
      ...rowConditions(draft, withoutWords, { alias, id }),
      ...uncertain.map((word) => hasWord(draft, words, word)),
    ]),
    bytes: uncertain.length > 0 ? `octet_length(${words})` : '0',
    revision: revisionColumn(draft, listing.group.groupId, 'revision'),
  }
}

let statements = 0

/** Each candidate is examined as it is found. */
function selectSqlitePiece(draft: SqlBuilder, texts: Texts, parts: PieceParts, keepsIds: boolean): string {
  const { key, id, maxBytes, maxRows } = texts
  const { from, conditions, matches, bytes, revision } = parts
  statements += 1
  // All small texts of a piece together are no more than the budget, which a function call for each would take long to count.
  const isSmall = `${bytes} <= ${Math.floor(maxBytes / maxRows)}`
  const isExamined = `(${isSmall} or ${budgetFunction}(${draft.bind(statements)}, ${bytes}, ${draft.bind(maxBytes)}))`
  const outcome = `case when ${isExamined} then case when ${matches} then 1 else 0 end end`
  const piece = `select ${key} as key, ${id} as id, ${outcome} as outcome from ${from} where ${conditions} order by ${key} limit ${maxRows}`
  const found = keepsIds ? "group_concat(case outcome when 1 then id end, ',') as ids, 0" : 'null as ids, sum(outcome)'
  return `select max(case when outcome is not null then key end) as last_key, count(outcome) as looked_at, count(*) as rows_found, ${found} as total, ${revision} from (${piece})`
}

/** With a running total of the texts' bytes. Its window function does not read the texts themselves. */
function selectPostgresPiece(draft: SqlBuilder, texts: Texts, parts: PieceParts, keepsIds: boolean): string {
  const { alias, key, id, maxBytes, maxRows } = texts
  const { from, conditions, matches, bytes, revision } = parts
  const some = `select * from ${from} where ${conditions} order by ${key} limit ${maxRows}`
  const piece = `select *, sum(${bytes}) over (order by ${key} rows unbounded preceding) - ${bytes} as bytes_before from (${some}) as ${alias}`
  const isExamined = `bytes_before < ${draft.bind(maxBytes)}`
  const isMatch = `case when ${isExamined} then ${matches} end`
  const found = keepsIds
    ? `string_agg(${id}, ',') filter (where ${isMatch}) as ids, 0`
    : `null as ids, count(*) filter (where ${isMatch})`
  return (
    `select max(${key}) filter (where ${isExamined}) as last_key, count(*) filter (where ${isExamined}) as looked_at,` +
    ` count(*) as rows_found, ${found} as total, ${revision} from (${piece}) as ${alias}`
  )
}

const countIds = (ids: string | null): number => (ids === null ? 0 : (ids.length + 1) / (idCharacters + 1))

/** Counts the matches in all pieces, and keeps their ids while they are not too many. */
async function searchInPieces(
  listing: Listing,
  texts: Texts,
  index: SearchIndex | undefined,
  onRevision: (revision: number) => void,
): Promise<Matches> {
  const { database } = listing.group
  const endMs = performance.now() + maxSearchMs
  const { after: first, last } = index ?? { after: '', last: undefined }
  const kept: string[] = []
  let total = 0
  for (let after = first; ; ) {
    const upTo = last === undefined ? undefined : Math.min(Number(after) + pieceEntries, last)
    const bounds = upTo === undefined ? { after } : { after, upTo }
    const draft = createSqlBuilder(database) // a piece is short enough to need no time limit
    const selectPiece = database.engine === 'sqlite' ? selectSqlitePiece : selectPostgresPiece
    const text = selectPiece(draft, texts, partsOf(draft, listing, texts, bounds), total <= maxKeptIds)
    const [piece] = await database.readLong<Piece>(text, draft.parameters)
    if (!piece) throw new Error('A piece of a search has no row.')
    onRevision(piece.revision)
    total += countIds(piece.ids) + Number(piece.total)
    if (piece.ids !== null && total <= maxKeptIds) kept.push(piece.ids)
    const isWhole = piece.looked_at === piece.rows_found && piece.rows_found < texts.maxRows
    if (isWhole && upTo === last) {
      const ids = total <= maxKeptIds ? kept.flatMap((some) => some.split(',')) : undefined
      return { total, ids }
    }
    if (performance.now() > endMs) throw readTimedOut()
    after = (isWhole ? upTo : piece.last_key) ?? after
  }
}

/**
 * With PostgreSQL, a statement that uses the index cannot be continued: the index has no order. LIKE can use it, and strpos
 * cannot.
 */
async function searchAtOnce(listing: Listing, onRevision: (revision: number) => void): Promise<Matches> {
  const { group, query } = listing
  const select = async <Row>(
    columns: string,
    from: (matching: string) => string,
  ): Promise<Row & { revision: number }> => {
    const draft = createSqlBuilder(group.database, true)
    const conditions = [
      ...rowConditions(draft, { ...listing, query: { ...query, words: [] } }, { alias: 'e', id: 'e.object_id' }),
      ...query.words.map((word) => `e.words like ${draft.bind(`%${word.replace(/[\\%_]/g, '\\$&')}%`)}`),
    ]
    const matching = `select e.object_id from ${draft.table('search_entries')} as e where ${all(conditions)}`
    const text = `select ${columns}, ${revisionColumn(draft, group.groupId, 'revision')} from (${from(matching)}) as matches`
    const [row] = await group.database.readLong<Row & { revision: number }>(text, draft.parameters)
    if (!row) throw new Error('A search has no row.')
    onRevision(row.revision)
    return row
  }
  const { ids } = await select<{ ids: string | null }>(
    "string_agg(object_id, ',') as ids",
    (matching) => `${matching} limit ${maxKeptIds + 1}`,
  )
  const found = countIds(ids)
  if (found <= maxKeptIds) return { total: found, ids: ids === null ? [] : ids.split(',') }
  const { total } = await select<{ total: number }>('count(*) as total', (matching) => matching)
  return { total, ids: undefined }
}

/** All matches of a search. `onRevision` receives the revision of each piece, and may throw. */
export async function searchMatches(
  listing: Listing,
  onRevision: (revision: number) => void = () => {},
): Promise<Matches> {
  const { group, container, query } = listing
  return group.database.withLongReadPermit(group.groupId, async () => {
    const index = query.ids ? undefined : await findSearchIndex(group, container)
    if (!index) return searchInPieces(listing, textsOfObjects(listing), index, onRevision)
    if (!query.words.some(index.canFind)) return searchInPieces(listing, textsOfEntries(listing), index, onRevision)
    if (group.database.engine === 'postgres') return searchAtOnce(listing, onRevision)
    return searchInPieces(listing, await indexedTexts(listing, index), index, onRevision)
  })
}

/** A listing of the matches by id, without the search and the filters. */
export function narrowTo(listing: Listing, { ids }: Matches): Listing {
  if (!ids) return listing
  return { ...listing, query: { ...listing.query, ...noConditions, words: [], ids } }
}
