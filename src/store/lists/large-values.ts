import { answerTooLong } from '../../content/answer-limit.ts'
import { maxLimit } from '../../content/list-query.ts'
import { type Revisions, revisionColumns } from '../content/revisions.ts'
import { createSqlBuilder, isOneOf, runStatement } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'

/**
 * A page is read with the lengths of its large values instead of the values, which costs no read of them on either engine.
 * The values are read afterwards, if all of them together fit an answer. So no more than an answer's limit is ever read.
 */

/** Values up to this size fit an answer even if all rows have them. */
const largeBytes = (maxBytes: number, maxRows: number): number => Math.floor(maxBytes / maxRows)

/** The value, or its length in digits if it is large; a value itself begins with {. */
export const valueOrLength = (maxBytes: number, maxRows = maxLimit): string =>
  Number.isFinite(maxBytes)
    ? `case when octet_length(o.value) > ${largeBytes(maxBytes, maxRows)} then cast(octet_length(o.value) as text) else o.value end`
    : 'o.value'

export const valueColumn = (maxBytes: number): string => `${valueOrLength(maxBytes)} as value`

const isLeftOut = (value: string): boolean => !value.startsWith('{')

interface ReadValue {
  id: string
  value: string
}

/** The values that were left out, by id. Throws if the page is too long for an answer. */
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
