import type { Container, StoredObject } from '../content/model.ts'
import { changeValue } from '../content/schema-change.ts'
import { schemaText } from '../store/content/stored-schema.ts'

export const hasSameSchema = (a: Container, b: Container): boolean => schemaText(a.schema) === schemaText(b.schema)

/**
 * Migrates an object missing in the export to the export's schema. As in a schema change by an editor, a value that would be
 * lost or that would not fit is harm.
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
  return {
    value,
    harm: harm && `by the new schema of "${after.name}" the object ${id}, which is not in the export, ${harm}`,
  }
}
