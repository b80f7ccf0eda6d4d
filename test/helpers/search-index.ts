import assert from 'node:assert/strict'
import { distinctWords } from '../../src/content/index-keys.ts'
import type { GroupStore } from '../../src/store/store.ts'

/** Asserts that each object of a group has an entry in the search index, with its state and words, and that there are no others. */
export async function assertSearchIndexIsRight({ groupId, database: { read } }: GroupStore): Promise<void> {
  const columns = ['archived', 'publish_ms', 'created_ms', 'container_id'] as const
  const objects = await read
    .selectFrom('objects')
    .select([...columns, 'id', 'search_text as words'])
    .where('group_id', '=', groupId)
    .orderBy('id')
    .execute()
  const entries = await read
    .selectFrom('search_entries')
    .select([...columns, 'object_id as id', 'words'])
    .where('group_id', '=', groupId)
    .orderBy('object_id')
    .execute()
  const withWords = (row: { words: string }) => ({ ...row, words: [...distinctWords(row.words)].toSorted() })
  assert.deepEqual(entries.map(withWords), objects.map(withWords))
}
