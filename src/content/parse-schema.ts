import { invalid } from '../core/errors.ts'
import { leavesOf } from './leaves.ts'
import {
  type Field,
  innerFieldsOf,
  isMedia,
  isRecord,
  mediaTypes,
  type Schema,
  scalarTypes,
  uniqueTypes,
} from './schema.ts'
import { problemsOfField } from './validate.ts'

/** Names that the service writes into `objectValue`. */
export const reservedFieldNames = ['_id', 'mediaFields']
/** The name of a block's type, beside its fields. */
const reservedInBlocks = ['type']
const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
/** In a schema, an object or a block. */
const maxFields = 200
/** With the fields inside objects and blocks. */
const maxFieldsInAll = 1000
export const maxFieldDepth = 5
const maxBlockTypes = 100
const maxEnumValues = 1000
const maxReferenceTargets = 50
const maxDefaultCharacters = 10_000

export const booleanRules = ['required', 'private', 'filterable', 'sortable', 'searchable']
/** Rules for editors, with the most characters that each may have. */
export const textRules: Readonly<Record<string, number>> = { label: 200, help: 2000, placeholder: 200, group: 200 }
export const limitRules: Record<string, readonly string[]> = {
  minLength: ['text', 'longText', 'slug'],
  maxLength: ['text', 'longText', 'slug'],
  min: ['integer', 'decimal'],
  max: ['integer', 'decimal'],
  maxItems: ['list', 'blocks'],
}
const countRules = ['minLength', 'maxLength', 'maxItems']
const limitPairs = [
  ['min', 'max'],
  ['minLength', 'maxLength'],
] as const

/** Filters and sort orders are of the whole object. */
const topLevelRules = ['filterable', 'sortable', 'unique']
/** Inside a list, "private" would have no effect and the values would be delivered: refused, not ignored. */
const wholeFieldRules = [...booleanRules, 'unique', 'default', 'group']

const leafTypes = [...scalarTypes, ...mediaTypes]
export const nestedTypes = ['reference', 'json', 'object', 'blocks'] as const

/** Where a field stands, and what it may be there. */
interface Place {
  types: readonly string[]
  misplacedRules: readonly string[]
  misplacedBecause: string
}

const inSchema: Place = {
  types: [...leafTypes, ...nestedTypes, 'list', 'variant'],
  misplacedRules: [],
  misplacedBecause: '',
}
const inFields: Place = {
  types: [...leafTypes, ...nestedTypes, 'list'],
  misplacedRules: topLevelRules,
  misplacedBecause: 'which only a field at the top level has',
}
const inside = { misplacedRules: wholeFieldRules, misplacedBecause: 'which belongs to the field itself' }
const inList: Place = { types: [...leafTypes, 'reference', 'object'], ...inside }
const inVariant: Place = { types: [...leafTypes, 'list'], ...inside }
const inVariantList: Place = { types: leafTypes, ...inside }

/** Finds the problems of one schema. */
function createSchemaCheck() {
  let fieldCount = 0

  function* problemsOfInput(path: string, input: unknown, place: Place, depth: number): Generator<string> {
    if (!isRecord(input)) return yield `${path} must be an object with a "type".`
    const misplaced = place.misplacedRules.find((rule) => Object.hasOwn(input, rule))
    if (misplaced) yield `${path} has the rule "${misplaced}", ${place.misplacedBecause}.`
    const { type, of, fields, blocks, ...rules } = input
    if (typeof type !== 'string' || !place.types.includes(type)) {
      return yield `${path}.type must be one of ${place.types.join(', ')}.`
    }
    for (const [rule, value] of Object.entries(rules)) yield* problemsOfRule(path, type, rule, value)
    yield* problemsOfLimits(path, rules)
    if (type === 'enum' && rules.values === undefined) yield `${path} is an enum and needs "values".`
    if (type === 'list') yield* problemsOfInput(`${path}.of`, of, place === inVariant ? inVariantList : inList, depth)
    else if (type === 'variant') yield* problemsOfInput(`${path}.of`, of, inVariant, depth)
    else if (of !== undefined) yield `${path} has "of", which only list and variant have.`
    if (type === 'object') yield* problemsOfFields(path, fields, depth + 1)
    else if (fields !== undefined) yield `${path} has "fields", which only object has.`
    if (type === 'blocks') yield* problemsOfBlocks(path, blocks, depth + 1)
    else if (blocks !== undefined) yield `${path} has "blocks", which only blocks has.`
  }

  function* problemsOfBlocks(path: string, blocks: unknown, depth: number): Generator<string> {
    const entries = isRecord(blocks) ? Object.entries(blocks) : []
    if (entries.length === 0 || entries.length > maxBlockTypes)
      return yield `${path}.blocks must be an object of 1 to ${maxBlockTypes} block types.`
    for (const [name, block] of entries) {
      const problem = nameProblem(name, 'the name of a block type')
      const blockPath = `${path}.${name}`
      if (problem !== undefined) yield `${path}.blocks: ${problem}.`
      else if (!isRecord(block)) yield `${blockPath} must be an object with "fields".`
      else {
        const { label, fields, ...others } = block
        const [unknown] = Object.keys(others)
        if (unknown !== undefined) yield `${blockPath} has "${unknown}", but a block type has only label and fields.`
        if (label !== undefined) yield* problemsOfRule(blockPath, 'blocks', 'label', label)
        yield* problemsOfFields(blockPath, fields, depth, reservedInBlocks)
      }
    }
  }

  function* problemsOfFields(
    path: string,
    fields: unknown,
    depth: number,
    reserved: readonly string[] = [],
  ): Generator<string> {
    if (depth > maxFieldDepth) return yield `${path} is nested too deep: fields have at most ${maxFieldDepth} levels.`
    if (!isRecord(fields)) return yield `${path}.fields must be an object of field name → field.`
    const entries = Object.entries(fields)
    if (entries.length === 0 || entries.length > maxFields)
      return yield `${path}.fields must be an object of 1 to ${maxFields} fields.`
    yield* problemsOfEntries(`${path}.`, entries, inFields, depth, reserved)
  }

  function* problemsOfEntries(
    prefix: string,
    entries: readonly [string, unknown][],
    place: Place,
    depth: number,
    reserved: readonly string[] = [],
  ): Generator<string> {
    fieldCount += entries.length
    if (fieldCount > maxFieldsInAll)
      return yield `A schema has at most ${maxFieldsInAll} fields, with those inside objects and blocks.`
    for (const [name, field] of entries) {
      const problem = fieldNameProblem(name, reserved)
      if (problem !== undefined) yield `${prefix && `${prefix.slice(0, -1)}: `}${problem}.`
      else yield* problemsOfInput(`${prefix}${name}`, field, place, depth)
    }
  }

  return (entries: readonly [string, unknown][]) => problemsOfEntries('', entries, inSchema, 1)
}

const isListOfTexts = (value: unknown, maxLength: number): value is string[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= maxLength &&
  value.every((item) => typeof item === 'string')

function* problemsOfTexts(path: string, value: unknown, maxLength: number): Generator<string> {
  if (!isListOfTexts(value, maxLength)) return yield `${path} must be a list of 1 to ${maxLength} texts.`
  const repeated = value.toSorted().find((item, position, sorted) => item === sorted[position - 1])
  if (repeated !== undefined) yield `${path} has "${repeated}" more than once.`
}

function* problemsOfRule(path: string, type: string, rule: string, value: unknown): Generator<string> {
  if (booleanRules.includes(rule) || (rule === 'unique' && uniqueTypes.includes(type))) {
    if (typeof value !== 'boolean') yield `${path}.${rule} must be true or false.`
  } else if (Object.hasOwn(limitRules, rule) && limitRules[rule]?.includes(type)) {
    if (typeof value !== 'number' || !Number.isFinite(value)) yield `${path}.${rule} must be a number.`
    else if (countRules.includes(rule) && !(Number.isSafeInteger(value) && value >= 0))
      yield `${path}.${rule} must be a whole number, 0 or more.`
  } else if (rule === 'values' && type === 'enum') {
    yield* problemsOfTexts(`${path}.values`, value, maxEnumValues)
  } else if ((rule === 'collections' || rule === 'products') && type === 'reference') {
    yield* problemsOfTexts(`${path}.${rule}`, value, maxReferenceTargets)
  } else if (Object.hasOwn(textRules, rule)) {
    const maxLength = textRules[rule] ?? 0
    if (typeof value !== 'string' || value.length > maxLength)
      yield `${path}.${rule} must be a text of at most ${maxLength} characters.`
  } else if (rule !== 'default') {
    yield `${path} has the rule "${rule}", which the type "${type}" does not have.`
  }
}

/** No value could satisfy contradictory limits. */
function* problemsOfLimits(path: string, rules: Record<string, unknown>): Generator<string> {
  const contradiction = limitPairs.find(([least, most]) => Number(rules[least]) > Number(rules[most]))
  if (contradiction) yield `${path}.${contradiction[0]} must not be greater than ${path}.${contradiction[1]}.`
}

function nameProblem(name: string, what: string, reserved: readonly string[] = []): string | undefined {
  if (!namePattern.test(name)) return `"${name}" cannot be ${what}: a letter, then up to 63 letters, digits, _ or -`
  // Every object inherits names like "constructor": a missing value would look present.
  return reserved.includes(name) || name in Object.prototype ? `"${name}" is reserved and cannot be ${what}` : undefined
}

export const fieldNameProblem = (name: string, alsoReserved: readonly string[] = []): string | undefined =>
  nameProblem(name, 'a field name', [...reservedFieldNames, ...alsoReserved])

/** Of a field that is valid otherwise. */
function* problemsOfDefaults(path: string, field: Field): Generator<string> {
  if (Object.hasOwn(field, 'default')) yield* problemsOfDefault(`${path}.default`, field)
  for (const [innerPath, inner] of innerFieldsOf(field)) yield* problemsOfDefaults(`${path}.${innerPath}`, inner)
}

function problemsOfDefault(path: string, field: Field): string[] {
  const { default: value } = field
  if (value === undefined || value === null) return [`${path} must be a value.`]
  if (JSON.stringify(value).length > maxDefaultCharacters)
    return [`${path} must have at most ${maxDefaultCharacters} characters as JSON.`]
  // Nothing would protect what it names from deletion.
  if (leavesOf(path, field, value).some((leaf) => isMedia(leaf.field) || leaf.field.type === 'reference'))
    return [`${path} must not name files or objects.`]
  return [...problemsOfField(path, field, value)].map((problem) => `${problem}.`)
}

const maxProblems = 20
const maxProblemLength = 300

/** Parses an object of field name → field. Throws a `ValidationError` that names every problem, up to a limit. */
export function parseSchema(input: unknown): Schema {
  if (!isRecord(input)) throw invalid('A schema must be an object of field name → field.')
  const entries = Object.entries(input)
  if (entries.length > maxFields) throw invalid(`A schema has at most ${maxFields} fields.`)
  refuse(createSchemaCheck()(entries))
  const schema = new Map(entries as [string, Field][])
  refuse(schema.entries().flatMap(([name, field]) => [...problemsOfDefaults(name, field)]))
  return schema
}

function refuse(all: Iterable<string>): void {
  const problems = [...Iterator.from(all).take(maxProblems + 1)]
  if (problems.length === 0) return
  const shown = problems.slice(0, maxProblems).map((problem) => problem.slice(0, maxProblemLength).toWellFormed())
  throw invalid([...shown, ...(problems.length > maxProblems ? ['There is more.'] : [])].join(' '))
}
