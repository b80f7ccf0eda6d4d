import { filterKeyOf, filterKeyOfText } from '../../content/index-keys.ts'
import { mergeParts } from '../../content/merge.ts'
import { type Container, draftPublishMs, type StoredObject, unsetPublishMs } from '../../content/model.ts'
import { parseDateTime } from '../../content/moments.ts'
import { type ScalarField, type Schema, scalarTypes } from '../../content/schema.ts'
import { invalid } from '../../core/errors.ts'
import { inChunks } from '../../core/in-chunks.ts'
import { findObjects, iterateObjects } from '../../store/content/objects.ts'
import type { GroupStore } from '../../store/store.ts'
import { type Draft, fitDraft } from './draft.ts'

/** The change that a draft makes: to an existing object, or a new one. */
export interface DraftChange {
  source: string
  before: StoredObject | undefined
  after: { value: Record<string, unknown>; publishMs: number; archived: boolean; archiveMs: number | null }
  problems: string[]
}

/** The field that identifies existing objects. */
export interface KeyField {
  name: string
  field: ScalarField
}

const draftsPerStep = 250

/** The given field, or `slug`; undefined if all drafts become new objects. */
export function chooseKey(schema: Schema, given: string | undefined, isAppend: boolean): KeyField | undefined {
  if (isAppend && given !== undefined) throw invalid('Give --key or --append, not both.')
  if (isAppend) return undefined
  const name = given ?? 'slug'
  const field = schema.get(name)
  if (!field && given === undefined)
    throw invalid(
      'The collection has no field "slug" to identify objects by. Name another field with --key <field>, or add all as new objects with --append.',
    )
  if (!field) throw invalid(`--key ${name} is not a field of the collection (it has ${[...schema.keys()].join(', ')}).`)
  if (!(scalarTypes as readonly string[]).includes(field.type))
    throw invalid(`--key ${name} is a ${field.type}; only a field with a single value can identify objects.`)
  return { name, field: field as ScalarField }
}

/** Equal for equal values, however they are written. */
function keyOf({ name, field }: KeyField, value: Record<string, unknown>): string | undefined {
  const written = value[name]
  if (written === undefined || written === null || written === '') return undefined
  return filterKeyOf(field, String(written)) ?? filterKeyOfText(String(written))
}

/** Key → ids of all objects of a collection. Does not use the index, which lacks private fields. */
async function findKeys(group: GroupStore, container: Container, key: KeyField): Promise<Map<string, string[]>> {
  const ids = new Map<string, string[]>()
  for await (const { id, value } of iterateObjects(group, container.id)) {
    const its = keyOf(key, value)
    if (its !== undefined) ids.set(its, [...(ids.get(its) ?? []), id])
  }
  return ids
}

/** Fields in the file are set, empty ones removed, missing ones kept. */
function mergeDraft({ value, emptied = [] }: Draft, before: StoredObject | undefined): Record<string, unknown> {
  const none = Object.fromEntries(emptied.map((name) => [name, null]))
  return mergeParts({ ...before?.value }, { ...value, ...none })
}

/** `draft` takes precedence over a date, as in static site generators. */
function publishMsOf({ draft, publishDate, archived }: Draft, before: StoredObject | undefined, nowMs: number): number {
  if (draft) return draftPublishMs
  if (publishDate !== undefined) return parseDateTime(publishDate) ?? unsetPublishMs
  const leavesDraft = draft === false && before?.publishMs === draftPublishMs
  if (leavesDraft || (!before && !archived)) return nowMs
  return before?.publishMs ?? unsetPublishMs
}

const archiveMsOf = ({ archiveDate }: Draft, before: StoredObject | undefined): number | null =>
  (archiveDate === undefined ? before?.archiveMs : parseDateTime(archiveDate)) ?? null

/**
 * Streams the changes to a collection in batches. Inside a transaction, `group` is the transaction's, so that an earlier
 * plan is repeated on the current content.
 */
export async function* matchDrafts(
  group: GroupStore,
  container: Container,
  key: KeyField | undefined,
  drafts: AsyncIterable<Draft>,
  nowMs: number,
): AsyncGenerator<DraftChange[]> {
  const idsHere = key ? await findKeys(group, container, key) : new Map<string, string[]>()
  const sources = new Map<string, string>()

  /** The object that a draft matches, or why that is undecidable. */
  function match({ source, value, problems }: Draft): { id?: string; problem?: string } {
    if (!key || problems.length > 0) return {}
    const its = keyOf(key, value)
    if (its === undefined) return { problem: `has no ${key.name}, which identifies objects` }
    const other = sources.get(its)
    if (other !== undefined) return { problem: `has the same ${key.name} as ${other}` }
    sources.set(its, source)
    const [id, ...more] = idsHere.get(its) ?? []
    if (more.length > 0) return { problem: `${more.length + 1} objects of the collection have this ${key.name}` }
    return id === undefined ? {} : { id }
  }

  for await (const chunk of inChunks(drafts, draftsPerStep)) {
    const matched = chunk.map((draft) => {
      const fitted = fitDraft(container.schema, draft)
      return { fitted, ...match(fitted) }
    })
    const ids = matched.flatMap(({ id }) => id ?? [])
    const here = new Map((await findObjects(group, ids)).map(({ object }) => [object.id, object]))
    yield matched.map(({ fitted, id, problem }): DraftChange => {
      const before = id === undefined ? undefined : here.get(id)
      return {
        source: fitted.source,
        before,
        after: {
          value: mergeDraft(fitted, before),
          publishMs: publishMsOf(fitted, before, nowMs),
          archived: fitted.archived ?? before?.archived ?? false,
          archiveMs: archiveMsOf(fitted, before),
        },
        problems: [...fitted.problems, ...(problem === undefined ? [] : [problem])],
      }
    })
  }
}
