import { yieldForHeavyWork } from '../../concurrency/time-slicing.ts'
import { type Candidate, compareRelevance, maxRankedCharacters, relevanceOf } from '../../content/relevance.ts'
import { revisionColumn } from '../content/revisions.ts'
import { inBatches } from '../engine/database.ts'
import { createSqlBuilder, isOneOf } from '../engine/statement.ts'
import type { Listing } from './list-conditions.ts'
import { findSearchIndex } from './search-index.ts'

/** Texts of one statement. */
const textsPerRead = 500

interface TextRow {
  id: string
  created_ms: number
  words: string
  revision: number
}

/** The matches of a search in the order of their relevance. `onRevision` receives the revision of each statement. */
export async function rankMatches(
  { group, container, query }: Listing,
  ids: readonly string[],
  onRevision: (revision: number) => void = () => {},
): Promise<Candidate[]> {
  const { groupId, database } = group
  return database.withLongReadPermit(groupId, async () => {
    const isIndexed = (await findSearchIndex(group, container)) !== undefined
    const [name, id, words] = isIndexed
      ? (['search_entries', 'object_id', 'words'] as const)
      : (['objects', 'id', 'search_text'] as const)
    const ranked: Candidate[] = []
    for (const batch of inBatches(ids, textsPerRead)) {
      const draft = createSqlBuilder(database)
      const { table, bind, parameters } = draft
      const { rows, characters } = await read(
        `select ${id} as id, created_ms, substr(${words}, 1, ${maxRankedCharacters}) as words, ${revisionColumn(draft, groupId, 'revision')}
          from ${table(name)} where container_id = ${bind(container.id)} and ${isOneOf(draft, id, batch)}`,
        parameters,
      )
      await yieldForHeavyWork(characters)
      for (const row of rows) {
        onRevision(row.revision)
        ranked.push({ id: row.id, createdMs: row.created_ms, relevance: relevanceOf(row.words, query.words) })
      }
    }
    return ranked.sort(compareRelevance)
  })

  async function read(text: string, parameters: readonly unknown[]) {
    const rows = await database.readLong<TextRow>(text, parameters)
    return { rows, characters: rows.reduce((sum, row) => sum + row.words.length, 0) }
  }
}
