import { invalid } from '../core/errors.ts'
import { type Conversion, type ConvertInside, combine, convertValue, typeInWords } from './convert-value.ts'
import {
  type BlocksField,
  type Field,
  innerFieldsOf,
  isRecord,
  leafOf,
  type ObjectField,
  type Schema,
  schemaOf,
  schemaOfBlock,
} from './schema.ts'
import { maxNestedValues, maxValueCharacters, problemsOf } from './validate.ts'

/**
 * A new schema for a collection that has objects, and how to migrate their values. Fields in objects are named by their path,
 * `seo.title`; in blocks after their type, `sections.quote.author`.
 */
export interface SchemaChange {
  schema: Schema
  /** Old path → new path, of fields and of block types. */
  renames: Readonly<Record<string, string>>
  /** Path of a field of the new schema → its value where there is none. */
  defaults: Readonly<Record<string, unknown>>
}

export interface SchemaChangeSummary {
  added: string[]
  removed: string[]
  renamed: { from: string; to: string }[]
  /** `field` is the new path. A change of rules alone is not listed. */
  retyped: { field: string; from: string; to: string }[]
}

export interface ChangedValue {
  value: Record<string, unknown>
  /** Values without a field in the new schema, under their old names. */
  lost: { field: string; value: unknown }[]
  /** What violates the new schema. The value must not be stored while there is any. */
  problems: string[]
}

/** Throws a `ValidationError` with the path if a change is invalid regardless of the objects. */
export function checkSchemaChange(current: Schema, change: SchemaChange): void {
  checkRenames(current, change)
  checkDefaults(change)
}

const joined = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)
const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('.'), 0))
const nameIn = (path: string): string => path.slice(path.lastIndexOf('.') + 1)

/** All fields by path. */
function* fieldPaths(schema: Iterable<[string, Field]>, prefix = ''): Generator<[path: string, field: Field]> {
  for (const [name, field] of schema) {
    yield [joined(prefix, name), field]
    yield* fieldPaths(innerFieldsOf(field), joined(prefix, name))
  }
}

/** The paths of all fields and block types. */
function pathsIn(schema: Schema): Set<string> {
  const paths = new Set<string>()
  for (const [path, field] of fieldPaths(schema)) {
    paths.add(path)
    if (field.type === 'blocks') for (const type of Object.keys(field.blocks)) paths.add(joined(path, type))
  }
  return paths
}

/** Where a field or block type goes, with all that contain it. */
function newPathOf(renames: SchemaChange['renames'], path: string): string {
  if (path === '') return ''
  return Object.hasOwn(renames, path) ? (renames[path] ?? '') : joined(newPathOf(renames, parentOf(path)), nameIn(path))
}

function checkRenames(current: Schema, { schema, renames }: SchemaChange): void {
  const sourceOfTarget = new Map<string, string>()
  const [before, after] = [pathsIn(current), pathsIn(schema)]
  for (const [from, to] of Object.entries(renames)) {
    const other = sourceOfTarget.get(to)
    const place = newPathOf(renames, parentOf(from))
    if (!before.has(from)) throw invalid(`renames.${from} is not a field of the current schema.`)
    if (!after.has(to)) throw invalid(`renames.${from} is "${to}", which is not a field of the new schema.`)
    if (other !== undefined) throw invalid(`renames.${from} is "${to}", which renames.${other} is already.`)
    if (parentOf(to) !== place)
      throw invalid(`renames.${from} must stay where it is: "${joined(place, nameIn(to))}", not "${to}".`)
    sourceOfTarget.set(to, from)
  }
  for (const from of sourceOfTarget.values()) {
    const sameName = joined(newPathOf(renames, parentOf(from)), nameIn(from))
    // If another field takes over the name, as when two swap theirs, the new schema rightly has it.
    const isTakenOver = sourceOfTarget.has(sameName) && sourceOfTarget.get(sameName) !== from
    if (after.has(sameName) && !isTakenOver) throw invalid(`renames.${from} is still a field of the new schema.`)
  }
}

function checkDefaults({ schema, defaults }: SchemaChange): void {
  const fields = new Map(fieldPaths(schema))
  for (const [path, value] of Object.entries(defaults)) {
    const field = fields.get(path)
    if (!field) throw invalid(`defaults.${path} is not a field of the new schema.`)
    if (value === undefined || value === null) throw invalid(`defaults.${path} must be a value.`)
    const [problem] = problemsOf(new Map([['value', field]]), { value })
    if (problem) throw invalid(`${problem.replace('objectValue.value', `defaults.${path}`)}.`)
  }
}

/** The fields of a schema, an object or a block before and after, with their paths there. */
interface Place {
  before: Schema
  after: Schema
  from: string
  to: string
}

interface Continued {
  name: string
  from: Field
  to: Field
}

/** How the fields of one place change. */
interface Level {
  /** Old name → the field that continues it. */
  continued: ReadonlyMap<string, Continued>
  added: string[]
  removed: string[]
}

type SourceOf = (newPath: string) => string | undefined

/** New name → old name. */
const oldName = (sourceOf: SourceOf, to: string, name: string): string => {
  const source = sourceOf(joined(to, name))
  return source === undefined ? name : nameIn(source)
}

function levelAt(sourceOf: SourceOf, { before, after, to }: Place): Level {
  const continued = new Map<string, Continued>()
  const added: string[] = []
  for (const [name, field] of after) {
    const old = oldName(sourceOf, to, name)
    const from = before.get(old)
    if (from) continued.set(old, { name, from, to: field })
    else added.push(name)
  }
  return { continued, added, removed: [...before.keys()].filter((name) => !continued.has(name)) }
}

/** Old block type → new one. */
function continuedBlocks(sourceOf: SourceOf, from: BlocksField, to: BlocksField, path: string): Map<string, string> {
  const pairs = Object.keys(to.blocks).map((type) => [oldName(sourceOf, path, type), type] as const)
  return new Map(pairs.filter(([old]) => Object.hasOwn(from.blocks, old)))
}

const sourcesOf = ({ renames }: SchemaChange): SourceOf => {
  const sources = new Map(Object.entries(renames).map(([from, to]) => [to, from]))
  return (path) => sources.get(path)
}

/** The places inside a field that continues another. */
function* placesInside(sourceOf: SourceOf, before: Field, after: Field, from: string, to: string): Generator<Place> {
  const [old, now] = [leafOf(before), leafOf(after)]
  if (old.type === 'object' && now.type === 'object') yield placeInObject(old, now, from, to)
  if (old.type !== 'blocks' || now.type !== 'blocks') return
  for (const [oldType, type] of continuedBlocks(sourceOf, old, now, to))
    yield placeInBlock(old, now, joined(from, oldType), joined(to, type))
}

const placeInObject = (before: ObjectField, after: ObjectField, from: string, to: string): Place => ({
  before: schemaOf(before.fields),
  after: schemaOf(after.fields),
  from,
  to,
})

const placeInBlock = (before: BlocksField, after: BlocksField, from: string, to: string): Place => ({
  before: schemaOfBlock(before, nameIn(from)) ?? new Map(),
  after: schemaOfBlock(after, nameIn(to)) ?? new Map(),
  from,
  to,
})

/** The block types that only the new, or only the old field has. */
function changedBlockTypes(sourceOf: SourceOf, before: Field, after: Field, to: string) {
  if (before.type !== 'blocks' || after.type !== 'blocks') return { added: [], removed: [] }
  const kept = continuedBlocks(sourceOf, before, after, to)
  const stays = new Set(kept.values())
  return {
    added: Object.keys(after.blocks).filter((type) => !stays.has(type)),
    removed: Object.keys(before.blocks).filter((type) => !kept.has(type)),
  }
}

export function describeSchemaChange(current: Schema, change: SchemaChange): SchemaChangeSummary {
  const sourceOf = sourcesOf(change)
  const renamed = Object.entries(change.renames).map(([from, to]) => ({ from, to }))
  const summary: SchemaChangeSummary = { added: [], removed: [], renamed, retyped: [] }
  function describe(place: Place): void {
    const { continued, added, removed } = levelAt(sourceOf, place)
    summary.added.push(...added.map((name) => joined(place.to, name)))
    summary.removed.push(...removed.map((name) => joined(place.from, name)))
    for (const name of place.after.keys()) {
      const old = oldName(sourceOf, place.to, name)
      const field = continued.get(old)
      if (field) describeField(field, joined(place.from, old), joined(place.to, name))
    }
  }
  function describeField({ from: before, to: after }: Continued, from: string, to: string): void {
    const [oldType, type] = [typeInWords(before), typeInWords(after)]
    if (oldType !== type) summary.retyped.push({ field: to, from: oldType, to: type })
    const { added, removed } = changedBlockTypes(sourceOf, before, after, to)
    summary.added.push(...added.map((name) => joined(to, name)))
    summary.removed.push(...removed.map((name) => joined(from, name)))
    for (const place of placesInside(sourceOf, before, after, from, to)) describe(place)
  }
  describe({ before: current, after: change.schema, from: '', to: '' })
  return summary
}

const isMissing = (value: unknown): boolean => value === undefined || value === null

interface Default {
  name: string
  value: unknown
  characters: number
}

interface LevelWithDefaults extends Level {
  defaults: readonly Default[]
}

/** Where a value inside another is. */
interface Position {
  /** Of its field, in the old and in the new schema. */
  from: string
  to: string
  /** Of the value, with its new names. */
  path: string
  /** With its old names. */
  lostPath: string
}

/** Returns the migration of stored values. The change must have passed `checkSchemaChange`. */
export function createMigration(
  current: Schema,
  change: SchemaChange,
): (value: Record<string, unknown>) => ChangedValue {
  const { schema, defaults } = change
  const sourceOf = sourcesOf(change)
  const levels = new Map<string, LevelWithDefaults>()

  function defaultsAt({ after, to }: Place): Default[] {
    const paths = [...after.keys()].map((name) => [name, joined(to, name)] as const)
    return paths
      .filter(([, path]) => Object.hasOwn(defaults, path))
      .map(([name, path]) => ({ name, value: defaults[path], characters: JSON.stringify(defaults[path]).length }))
  }

  function levelOf(place: Place): LevelWithDefaults {
    const level = levels.get(place.to) ?? { ...levelAt(sourceOf, place), defaults: defaultsAt(place) }
    levels.set(place.to, level)
    return level
  }

  function migrate(stored: Record<string, unknown>) {
    const lost: ChangedValue['lost'] = []
    /** Of the defaults used so far. */
    let [count, length] = [0, 0]

    function changeFields(place: Place, value: Record<string, unknown>, path: string, lostPath: string) {
      const level = levelOf(place)
      const { continued } = level
      const changed = new Map<string, Conversion>()
      for (const [old, item] of Object.entries(value)) {
        const field = continued.get(old)
        const lostItem = joined(lostPath, old)
        if (field) {
          const newPath = `${path}.${field.name}`
          const names = { from: joined(place.from, old), to: joined(place.to, field.name) }
          const inside: ConvertInside = (at, before, after, part) =>
            changeInside(before, after, part, { ...names, path: at, lostPath: lostItem + at.slice(newPath.length) })
          changed.set(field.name, convertValue(newPath, field.from, field.to, item, inside))
        } else if (!isMissing(item)) {
          lost.push({ field: lostItem, value: item })
        }
      }
      for (const { name, value: added, characters } of level.defaults) {
        const { value: now, problems } = changed.get(name) ?? none
        // What has more than this is refused anyway: many items times many defaults must not be built first.
        if (problems.length > 0 || !isMissing(now) || count > maxNestedValues || length > maxValueCharacters) continue
        count += 1
        length += characters
        changed.set(name, { value: added, problems })
      }
      return changed
    }

    /** An object, or a list of blocks. */
    function changeInside(before: Field, after: Field, value: unknown, position: Position): Conversion | undefined {
      const { from, to, path, lostPath } = position
      if (before.type === 'object' && after.type === 'object' && isRecord(value))
        return joinFields(changeFields(placeInObject(before, after, from, to), value, path, lostPath))
      if (before.type === 'blocks' && after.type === 'blocks' && Array.isArray(value))
        return changeBlocks(before, after, value, position)
      return undefined
    }

    function changeBlocks(
      before: BlocksField,
      after: BlocksField,
      value: readonly unknown[],
      { from, to, path, lostPath }: Position,
    ): Conversion {
      const types = continuedBlocks(sourceOf, before, after, to)
      const blocks = value.flatMap((block, position) => {
        const lostBlock = `${lostPath}.${position}`
        const oldType = isRecord(block) && typeof block.type === 'string' ? block.type : ''
        const type = types.get(oldType)
        if (type === undefined) {
          lost.push({ field: lostBlock, value: block })
          return []
        }
        const place = placeInBlock(before, after, joined(from, oldType), joined(to, type))
        const renamed = { ...(block as Record<string, unknown>), type }
        return joinFields(changeFields(place, renamed, `${path}.${position}`, lostBlock))
      })
      return combine(blocks, (items) => items)
    }

    const whole = { before: current, after: schema, from: '', to: '' }
    return { fields: changeFields(whole, stored, 'objectValue', ''), lost }
  }

  return (stored) => {
    const { fields, lost } = migrate(stored)
    // A value that could not be converted is neither replaced by a default nor also reported as missing.
    const carried = [...schema].filter(([name]) => (fields.get(name) ?? none).problems.length === 0)
    const value = Object.fromEntries(
      carried.map(([name]) => [name, fields.get(name)?.value]).filter(([, item]) => item !== undefined),
    )
    const problems = fields.values().flatMap((field) => field.problems)
    return { value, lost, problems: [...problems, ...problemsOf(new Map(carried), value)] }
  }
}

const none: Conversion = { value: undefined, problems: [] }

/** An object of fields in their order, or all their problems. */
function joinFields(fields: ReadonlyMap<string, Conversion>): Conversion {
  const names = [...fields.keys()]
  return combine([...fields.values()], (values) => {
    const entries = names.map((name, position) => [name, values[position]] as const)
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  })
}

export const changeValue = (current: Schema, change: SchemaChange, value: Record<string, unknown>): ChangedValue =>
  createMigration(current, change)(value)
