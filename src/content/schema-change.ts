import { invalid } from '../core/errors.ts'
import { convertValue, typeInWords } from './convert-value.ts'
import type { Field, Schema } from './schema.ts'
import { problemsOf } from './validate.ts'

/** A new schema for a collection that has objects, and how to migrate their values. */
export interface SchemaChange {
  schema: Schema
  /** Old name → new name. */
  renames: Readonly<Record<string, string>>
  /** Field of the new schema → its value in objects that have none. */
  defaults: Readonly<Record<string, unknown>>
}

export interface SchemaChangeSummary {
  added: string[]
  removed: string[]
  renamed: { from: string; to: string }[]
  /** `field` is the new name. A change of rules alone is not listed. */
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

function checkRenames(current: Schema, { schema, renames }: SchemaChange): void {
  const sourceOfTarget = new Map<string, string>()
  for (const [from, to] of Object.entries(renames)) {
    const other = sourceOfTarget.get(to)
    if (!current.has(from)) throw invalid(`renames.${from} is not a field of the current schema.`)
    if (!schema.has(to)) throw invalid(`renames.${from} is "${to}", which is not a field of the new schema.`)
    if (other !== undefined) throw invalid(`renames.${from} is "${to}", which renames.${other} is already.`)
    sourceOfTarget.set(to, from)
  }
  for (const from of sourceOfTarget.values()) {
    // If another field takes over the name, as when two swap theirs, the new schema rightly has it.
    const isTakenOver = sourceOfTarget.has(from) && sourceOfTarget.get(from) !== from
    if (schema.has(from) && !isTakenOver) throw invalid(`renames.${from} is still a field of the new schema.`)
  }
}

function checkDefaults({ schema, defaults }: SchemaChange): void {
  for (const [name, value] of Object.entries(defaults)) {
    const field = schema.get(name)
    if (!field) throw invalid(`defaults.${name} is not a field of the new schema.`)
    if (value === undefined || value === null) throw invalid(`defaults.${name} must be a value.`)
    const problems = problemsOf(new Map([[name, field]]), { [name]: value })
    if (problems[0]) throw invalid(`${problems[0].replace('objectValue', 'defaults')}.`)
  }
}

interface Source {
  name: string
  field: Field
}

/** New field → the old field that it continues. */
function sourcesOf(current: Schema, { schema, renames }: SchemaChange): Map<string, Source> {
  const oldNames = new Map(Object.entries(renames).map(([from, to]) => [to, from]))
  const sources = new Map<string, Source>()
  for (const newName of schema.keys()) {
    const name = oldNames.get(newName) ?? newName
    const field = current.get(name)
    if (field) sources.set(newName, { name, field })
  }
  return sources
}

const namesOf = (sources: Map<string, Source>): Set<string> => new Set([...sources.values()].map(({ name }) => name))

export function describeSchemaChange(current: Schema, change: SchemaChange): SchemaChangeSummary {
  const sources = sourcesOf(current, change)
  const carriedOver = namesOf(sources)
  return {
    added: [...change.schema.keys()].filter((name) => !sources.has(name)),
    removed: [...current.keys()].filter((name) => !carriedOver.has(name)),
    renamed: Object.entries(change.renames).map(([from, to]) => ({ from, to })),
    retyped: [...change.schema]
      .map(([name, field]) => ({
        field: name,
        from: typeInWords(sources.get(name)?.field ?? field),
        to: typeInWords(field),
      }))
      .filter(({ from, to }) => from !== to),
  }
}

/** Migrates one stored value. The change must have passed `checkSchemaChange`. */
export function changeValue(current: Schema, change: SchemaChange, value: Record<string, unknown>): ChangedValue {
  const sources = sourcesOf(current, change)
  const fields = [...change.schema].map(([name, field]) => {
    const source = sources.get(name)
    const old = source && Object.hasOwn(value, source.name) ? value[source.name] : undefined
    return { name, field, ...convertValue(`objectValue.${name}`, source?.field ?? field, field, old) }
  })
  // A value that could not be converted is neither replaced by a default nor also reported as missing.
  const carried = fields.filter(({ problems }) => problems.length === 0)
  const changed = Object.fromEntries(
    carried
      .map(({ name, value }) => [name, valueOrDefault(change, name, value)])
      .filter(([, value]) => value !== undefined),
  )
  return {
    value: changed,
    lost: droppedValues(sources, value),
    problems: [
      ...fields.flatMap(({ problems }) => problems),
      ...problemsOf(new Map(carried.map(({ name, field }) => [name, field])), changed),
    ],
  }
}

/** Without a default, a stored `null` stays. */
const valueOrDefault = ({ defaults }: SchemaChange, name: string, value: unknown): unknown =>
  Object.hasOwn(defaults, name) ? (value ?? defaults[name]) : value

/** Includes what an even older schema left behind: it is dropped too. */
function droppedValues(sources: Map<string, Source>, value: Record<string, unknown>): ChangedValue['lost'] {
  const carriedOver = namesOf(sources)
  return Object.entries(value)
    .filter(([field, item]) => !carriedOver.has(field) && item !== undefined && item !== null)
    .map(([field, item]) => ({ field, value: item }))
}
