import { hash } from 'node:crypto'
import { indexRowsOf } from '../../content/index-keys.ts'
import type { Container } from '../../content/model.ts'
import { retypeMetadata } from '../../content/product-metadata.ts'
import type { Schema } from '../../content/schema.ts'
import {
  changeValue,
  checkSchemaChange,
  createMigration,
  describeSchemaChange,
  type SchemaChange,
} from '../../content/schema-change.ts'
import { type UniqueValue, uniqueValuesOf } from '../../content/unique.ts'
import { relaxSchema } from '../../content/working-copy.ts'
import { conflict } from '../../core/errors.ts'
import type { GroupStore } from '../store.ts'
import { changedFields, changeObjects, type PlannedChange } from './change-objects.ts'
import type { ContentWriter } from './changes.ts'
import { updateContainer } from './containers.ts'
import { indexBytesOf } from './object-index.ts'
import { iterateObjectBatches, iterateObjects } from './objects.ts'
import { readRevision } from './revisions.ts'
import { iterateWorkingCopies, updateWorkingCopy, type WorkingCopy } from './working-copies.ts'

/** Beyond this many, objects are counted and not listed. */
const maxListed = 100
const maxShownCharacters = 200

export interface SchemaChangeReport {
  fields: ReturnType<typeof describeSchemaChange>
  objects: number
  /** The number of objects whose value would change. */
  changed: number
  /** Values that no field of the new schema accepts. */
  lost: { count: number; objects: { objectId: string; field: string; value: string }[] }
  /** Objects that would not fit the new schema. */
  failing: { count: number; objects: { objectId: string; problems: string[] }[] }
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text
}

/** More values are not compared exactly: then most of them are duplicates anyway. */
const maxSuspects = 10_000

/** A number that differs for almost all values, so that a million values can be compared in 8 MB. */
const digestOf = ({ field, key }: UniqueValue): number =>
  Number.parseInt(hash('sha256', `${field} ${key}`).slice(0, 13), 16)

/** The digests that occur more than once. */
function repeatedDigests(digests: readonly number[]): Set<number> {
  const repeated = new Set<number>()
  const sorted = Float64Array.from(digests).sort()
  for (let position = 1; position < sorted.length && repeated.size < maxSuspects; position++)
    if (sorted[position] === sorted[position - 1]) repeated.add(sorted[position] as number)
  return repeated
}

/** Adds objects to the failing ones whose unique values an earlier object has. */
async function reviewUnique(
  group: GroupStore,
  container: Container,
  change: SchemaChange,
  { report, digests }: { report: SchemaChangeReport; digests: readonly number[] },
): Promise<void> {
  const suspects = repeatedDigests(digests)
  if (suspects.size === 0) return
  const migrate = createMigration(container.schema, change)
  const firstHolders = new Map<string, string>()
  for await (const object of iterateObjects(group, container.id)) {
    const { value, problems } = migrate(object.value)
    if (problems.length > 0) continue
    const taken: string[] = []
    for (const unique of uniqueValuesOf(change.schema, value)) {
      if (!suspects.has(digestOf(unique))) continue
      const holder = firstHolders.get(`${unique.field} ${unique.key}`)
      if (holder === undefined) firstHolders.set(`${unique.field} ${unique.key}`, object.id)
      else taken.push(`objectValue.${unique.field} must be unique, and the object ${holder} has the same value`)
    }
    if (taken.length > 0) addFailing(report, object.id, taken)
  }
}

function addFailing({ failing }: SchemaChangeReport, objectId: string, problems: string[]): void {
  failing.count += 1
  if (failing.objects.length < maxListed) failing.objects.push({ objectId, problems })
}

/** A dry run of a schema change. */
export async function reviewSchemaChange(
  group: GroupStore,
  container: Container,
  change: SchemaChange,
): Promise<SchemaChangeReport> {
  checkSchemaChange(container.schema, change)
  const report: SchemaChangeReport = {
    fields: describeSchemaChange(container.schema, change),
    objects: 0,
    changed: 0,
    lost: { count: 0, objects: [] },
    failing: { count: 0, objects: [] },
  }
  const digests: number[] = []
  const migrate = createMigration(container.schema, change)
  for await (const object of iterateObjects(group, container.id)) {
    const { value, lost, problems } = migrate(object.value)
    report.objects += 1
    if (changedFields(object.value, value).length > 0) report.changed += 1
    for (const { field, value: lostValue } of lost) {
      report.lost.count += 1
      if (report.lost.objects.length < maxListed)
        report.lost.objects.push({ objectId: object.id, field, value: shorten(lostValue) })
    }
    if (problems.length > 0) addFailing(report, object.id, problems)
    else for (const unique of uniqueValuesOf(change.schema, value)) digests.push(digestOf(unique))
  }
  await reviewUnique(group, container, change, { report, digests })
  addCopies(report, await reviewWorkingCopies(group, container, change))
  return report
}

type Harm = Pick<SchemaChangeReport, 'lost' | 'failing'>

function addCopies({ lost, failing }: SchemaChangeReport, ofCopies: Harm): void {
  lost.count += ofCopies.lost.count
  lost.objects.push(...ofCopies.lost.objects.slice(0, maxListed - lost.objects.length))
  failing.count += ofCopies.failing.count
  failing.objects.push(...ofCopies.failing.objects.slice(0, maxListed - failing.objects.length))
}

/** A working copy under the new schema; unless it is scheduled, it may violate the limits of fields. */
function changeWorkingCopy(container: Container, change: SchemaChange, { value, dueMs }: WorkingCopy) {
  const strict = changeValue(container.schema, change, value)
  if (dueMs !== null) return strict
  const relaxed = changeValue(container.schema, { ...change, schema: relaxSchema(change.schema) }, value)
  return { ...relaxed, value: { ...relaxed.value, ...strict.value } }
}

async function reviewWorkingCopies(group: GroupStore, container: Container, change: SchemaChange): Promise<Harm> {
  const harm: Harm = { lost: { count: 0, objects: [] }, failing: { count: 0, objects: [] } }
  for await (const copy of iterateWorkingCopies(group, container.id)) {
    const { lost, problems } = changeWorkingCopy(container, change, copy)
    harm.lost.count += lost.length
    const shown = lost.slice(0, maxListed - harm.lost.objects.length)
    harm.lost.objects.push(
      ...shown.map(({ field, value }) => ({ objectId: copy.id, field, value: `${shorten(value)} (working copy)` })),
    )
    if (problems.length === 0) continue
    harm.failing.count += 1
    harm.failing.objects.push({ objectId: copy.id, problems: problems.map((problem) => `working copy: ${problem}`) })
  }
  return harm
}

/** The base was a live value, and changes like the live one. */
async function changeWorkingCopies(writer: ContentWriter, container: Container, change: SchemaChange): Promise<void> {
  for await (const copy of iterateWorkingCopies(writer.group, container.id)) {
    await updateWorkingCopy(writer, copy.id, {
      value: changeWorkingCopy(container, change, copy).value,
      baseValue: changeValue(container.schema, change, copy.baseValue).value,
    })
  }
}

function refuseHarm(report: Harm, allowLoss: boolean): void {
  const { lost, failing } = report
  if (failing.count > 0) {
    const first = failing.objects[0]
    throw conflict(
      `${failing.count} ${failing.count === 1 ? 'object does' : 'objects do'} not fit the new schema, such as ${first?.objectId}: ${first?.problems[0]}. Correct them, or change the schema; nothing was changed.`,
      { report },
    )
  }
  if (lost.count > 0 && !allowLoss) {
    throw conflict(
      `${lost.count} ${lost.count === 1 ? 'value' : 'values'} would be lost, such as ${lost.objects[0]?.field} of ${lost.objects[0]?.objectId}. To proceed anyway, allow the loss (allowLoss, or --allow-loss at the terminal); nothing was changed.`,
      { report },
    )
  }
}

/** A dry run made before the write lock, valid while the revision is the same. */
interface Reviewed {
  revision: number
  report: SchemaChangeReport
}

/**
 * Changes a container's schema, and the values and index of its objects, in the writer's transaction.
 */
export async function changeSchema(
  given: ContentWriter,
  before: Container,
  change: SchemaChange,
  { allowLoss, reviewed }: { allowLoss: boolean; reviewed?: Reviewed },
): Promise<{ container: Container; report: SchemaChangeReport }> {
  const writer: ContentWriter = { ...given, spend: () => {} } // it cannot be split into smaller requests
  const isReviewed = reviewed?.revision === (await readRevision(writer.group))
  const report = isReviewed ? reviewed.report : await reviewSchemaChange(writer.group, before, change)
  refuseHarm(report, allowLoss)
  // Saves of working copies make no revision, so those may be newer than the dry run.
  if (isReviewed) refuseHarm(await reviewWorkingCopies(writer.group, before, change), allowLoss)
  const container = await updateContainer(writer, before, { schema: change.schema })
  if (container === before && report.changed === 0) return { container, report }
  const migrate = createMigration(before.schema, change)
  for await (const objects of iterateObjectBatches(writer.group, before.id)) {
    const planned = objects.map((object) => ({
      before: object,
      wanted: { value: migrate(object.value).value },
    }))
    await changeObjects(writer, container, planned, 'schema changed', before)
  }
  await changeWorkingCopies(writer, before, change)
  return { container, report }
}

/**
 * Adds optional fields, for which no object has a value. Objects are not read: their index rows are inserted in bulk.
 */
export async function addFields(writer: ContentWriter, before: Container, added: Schema): Promise<Container> {
  const { db, group } = writer
  const container = await updateContainer(writer, before, { schema: new Map([...before.schema, ...added]) })
  const rows = indexRowsOf(added, {})
  const bytes = indexBytesOf(rows.map(({ filterKey, sortKey }) => ({ filter_key: filterKey, sort_key: sortKey })))
  await db
    .updateTable('objects')
    .set((eb) => ({ index_bytes: eb('index_bytes', '+', bytes) }))
    .where('group_id', '=', group.groupId)
    .where('container_id', '=', before.id)
    .execute()
  for (const { field, filterKey, sortKey } of rows) {
    await db
      .insertInto('object_fields')
      .columns(['object_id', 'container_id', 'archived', 'publish_ms', 'field', 'filter_key', 'sort_key'])
      .expression(({ selectFrom, val }) =>
        selectFrom('objects')
          .select(['id', 'container_id', 'archived', 'publish_ms'])
          .select([val(field).as('field'), val(filterKey).as('filter_key'), val(sortKey).as('sort_key')])
          .where('group_id', '=', group.groupId)
          .where('container_id', '=', before.id),
      )
      .execute()
  }
  return container
}

const objectsPerStep = 250

export interface DeclarationReport {
  objects: number
  /** Values that do not fit. They return from the provider if the field is declared differently. */
  leftOut: { count: number; objects: { objectId: string; field: string }[] }
}

/** A dry run of `declareFields`. */
export async function reviewDeclaration(
  group: GroupStore,
  container: Container,
  schema: Schema,
): Promise<DeclarationReport> {
  const report: DeclarationReport = { objects: 0, leftOut: { count: 0, objects: [] } }
  for await (const { id: objectId, value } of iterateObjects(group, container.id)) {
    report.objects += 1
    for (const field of retypeMetadata(container.schema, schema, value).leftOut) {
      report.leftOut.count += 1
      if (report.leftOut.objects.length < maxListed) report.leftOut.objects.push({ objectId, field })
    }
  }
  return report
}

/** Changes the schema of a provider's products, with their values and index, in the writer's transaction. */
export async function declareFields(writer: ContentWriter, before: Container, schema: Schema): Promise<Container> {
  const container = await updateContainer(writer, before, { schema })
  if (container === before) return before
  let planned: PlannedChange[] = []
  const apply = async (): Promise<void> => {
    // Descriptions come from the provider and may refer to missing files.
    await changeObjects({ ...writer, allowsMissing: true }, container, planned, 'schema changed', before)
    planned = []
  }
  for await (const object of iterateObjects(writer.group, before.id)) {
    const { value } = retypeMetadata(before.schema, schema, object.value)
    planned.push({ before: object, wanted: { value } })
    if (planned.length === objectsPerStep) await apply()
  }
  await apply()
  return container
}
