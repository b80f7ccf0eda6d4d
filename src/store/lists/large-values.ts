import { answerTooLong } from '../../content/answer-limit.ts'
import { maxLimit } from '../../content/list-query.ts'
import { type Revisions, revisionColumns } from '../content/revisions.ts'
import { createSqlBuilder, isOneOf, runStatement } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'

/**
 * A page is read without its large values: of each of those its length comes instead, which both engines know without reading
 * it. So what is read at once is never more than an answer may have. Only when all of them together are not more, the large ones are read, too.
 */

/** So many bytes of each object of the longest page are within the limit of an answer. */
const largeBytes = (maxBytes: number): number => Math.floor(maxBytes / maxLimit)

/** A value is a JSON object, so digits cannot be one. */
export const valueColumn = (maxBytes: number): string =>
  Number.isFinite(maxBytes)
    ? `case when octet_length(o.value) > ${largeBytes(maxBytes)} then cast(octet_length(o.value) as text) else o.value end as value`
    : 'o.value'

const isLeftOut = (value: string): boolean => !value.startsWith('{')

interface ReadValue {
  id: string
  value: string
}

/** The values that were left out, by their ids. Throws where the page is too long for an answer. */
export async function readLargeValues(
  group: GroupStore,
  page: readonly ReadValue[],
  maxBytes: number,
): Promise<{ values: Map<string, string>; revisions: Revisions[] }> {
  let bytes = 0
  const leftOut: string[] = []
  for (const { id, value } of page) {
    bytes += isLeftOut(value) ? Number(value) : value.length
    if (isLeftOut(value)) leftOut.push(id)
  }
  if (bytes > maxBytes) throw answerTooLong(maxBytes)
  if (leftOut.length === 0) return { values: new Map(), revisions: [] }
  const draft = createSqlBuilder(group.database)
  const text = `select o.id, o.value, ${revisionColumns(draft, group.groupId)} from ${draft.table('objects')} as o where o.group_id = ${draft.bind(group.groupId)} and ${isOneOf(draft, 'o.id', leftOut)}`
  const rows = await runStatement<ReadValue & Revisions>(group, text, draft)
  return { values: new Map(rows.map(({ id, value }) => [id, value])), revisions: rows }
}
