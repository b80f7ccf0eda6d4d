import type { Container, StoredObject } from '../content/model.ts'
import { changeValue } from '../content/schema-change.ts'
import { schemaText } from '../store/content/containers.ts'

export const hasSameSchema = (a: Container, b: Container): boolean => schemaText(a.schema) === schemaText(b.schema)

/**
 * What an object that is only here becomes when an export brings another schema. By the rules of a change by hand: a
 * value that would be lost, or an object that would not fit, is harm.
 */
export function underSchema(
  before: Container,
  after: Container,
  { id, value: old }: StoredObject,
): { value: Record<string, unknown>; harm: string | undefined } {
  const change = { schema: after.schema, renames: {}, defaults: {} }
  const { value, lost, problems } = changeValue(before.schema, change, old)
  const [lostValue] = lost
  const [problem] = problems
  const harm = lostValue ? `would lose its ${lostValue.field}` : problem && `would not fit: ${problem}`
  return { value, harm: harm && `by the new schema of "${after.name}" the object ${id}, which is only here, ${harm}` }
}
