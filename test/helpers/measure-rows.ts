import type { GroupStore } from '../../src/store/store.ts'

/** The same database, with the characters that each of its statements returned in one column. */
export function measureRows(
  { groupId, database }: GroupStore,
  column: string,
  onRead: (characters: number) => void,
): GroupStore {
  const read = database.read.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const characters = result.rows.reduce<number>((sum, { [column]: text }) => sum + (typeof text === 'string' ? text.length : 0), 0) // biome-ignore format: one line reads better
      if (characters > 0) onRead(characters)
      return result
    },
  })
  return { groupId, database: { ...database, read } }
}
