import { invalid } from '../core/errors.ts'
import { convertValue, typeInWords } from './convert-value.ts'
import type { Field, Schema } from './schema.ts'
import { problemsOf } from './validate.ts'

/** A new schema for a collection that has objects, and how their values come to fit it. */
export interface SchemaChange {
  schema: Schema
  /** Old name → new name. */
  renames: Readonly<Record<string, string>>
  /** Field of the new schema → the value of objects that have none there. */
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
  /** What the new schema has no place for, under its old name. */
  lost: { field: string; value: unknown }[]
  /** Why the value cannot be stored under the new schema. It must not be stored while there is one. */
  problems: string[]
}

/** Refuses a change that makes no sense whatever the objects hold. Throws a `ValidationError` that names the place. */
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
    // Where another field takes over the name, as when two swap theirs, the new schema rightly has it.
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

/** The old field behind each field of the new schema that has one. */
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

/** What a change does to the fields, for people. */
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

/** One stored value under the new schema. The change must be one that `checkSchemaChange` accepts. */
export function changeValue(current: Schema, change: SchemaChange, value: Record<string, unknown>): ChangedValue {
  const sources = sourcesOf(current, change)
  const fields = [...change.schema].map(([name, field]) => {
    const source = sources.get(name)
    const old = source && Object.hasOwn(value, source.name) ? value[source.name] : undefined
    return { name, field, ...convertValue(`objectValue.${name}`, source?.field ?? field, field, old) }
  })
  // What could not be converted is neither replaced by a default nor reported once more as missing.
  const carried = fields.filter(({ problems }) => problems.length === 0)
  const changed = Object.fromEntries(
    carried
      .map(({ name, value }) => [name, valueOrDefault(change, name, value)])
      .filter(([, value]) => value !== undefined),
  )
  return {
    value: changed,
    lost: valuesWithoutPlace(sources, value),
    problems: [
      ...fields.flatMap(({ problems }) => problems),
      ...problemsOf(new Map(carried.map(({ name, field }) => [name, field])), changed),
    ],
  }
}

/** A stored `null` stays one where there is no default. */
function valueOrDefault({ defaults }: SchemaChange, name: string, value: unknown): unknown {
  return Object.hasOwn(defaults, name) ? (value ?? defaults[name]) : value
}

/** Also what an older schema left behind: it would be gone all the same. */
function valuesWithoutPlace(sources: Map<string, Source>, value: Record<string, unknown>): ChangedValue['lost'] {
  const carriedOver = namesOf(sources)
  return Object.entries(value)
    .filter(([field, item]) => !carriedOver.has(field) && item !== undefined && item !== null)
    .map(([field, item]) => ({ field, value: item }))
}
