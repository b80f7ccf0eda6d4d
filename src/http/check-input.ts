import { createRequire } from 'node:module'
import type { Static, TObject, TSchema } from 'typebox'
import type * as Library from 'typebox/schema'
import { isStorableText } from '../content/texts.ts'
import { invalid } from '../core/errors.ts'

export const maxDepth = 40
/** More than a body with the largest objects has, and few enough to be checked without delaying other requests. */
export const maxParts = 150_000
export const maxEntries = 10_000
const maxProblems = 10
const maxNameCharacters = 64

type Problem = ReturnType<typeof Library.Errors>[1][number]

const load = createRequire(import.meta.url)
/** Loaded with the first input: it has hundreds of files, which reads do not need. */
const library = (): typeof Library => load('typebox/schema')

/** Interpreting a schema takes fifty times as long as compiled code for a long list, so it only describes problems. */
const compiled = new WeakMap<TObject, Library.Validator>()

function isValid(schema: TObject, input: unknown): boolean {
  const validator = compiled.get(schema) ?? library().Compile(schema)
  compiled.set(schema, validator)
  return validator.Check(input)
}

/** `/items/3/objectId` as `items[3].objectId`. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part, position) => (/^\d+$/.test(part) ? `[${part}]` : position === 0 ? part : `.${part}`))
    .join('')
}

const joined = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

const typeWords: Record<string, string> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

const inWords = (types: unknown): string =>
  [types]
    .flat()
    .map((type) => typeWords[String(type)] ?? String(type))
    .join(' or ')

/** The problem in a sentence; undefined when another problem describes it better. */
function describe(problem: Problem, known: readonly string[]): string | undefined {
  const { instancePath, keyword } = problem
  const path = pathOf(instancePath)
  const params = problem.params as Record<string, unknown>
  const what = path === '' ? 'The input' : path
  switch (keyword) {
    case 'required':
      return (params.requiredProperties as string[]).map((name) => `${joined(path, name)} is required`).join('; ')
    case 'additionalProperties': {
      const names = (params.additionalProperties as string[])
        .slice(0, maxProblems)
        .map((name) => joined(path, name.slice(0, maxNameCharacters)))
        .join(', ')
      return `${names} cannot be given here${path === '' && known.length > 0 ? ` (known: ${known.join(', ')})` : ''}`
    }
    case 'type':
      return `${what} must be ${inWords(params.type)}`
    case 'enum':
      return `${what} must be one of ${(params.allowedValues as unknown[]).join(', ')}`
    case 'minLength':
      return params.limit === 1 ? `${what} must not be empty` : `${what} must have at least ${params.limit} characters`
    case 'maxLength':
      return `${what} must have at most ${params.limit} characters`
    case 'minimum':
      return `${what} must be at least ${params.limit}`
    case 'maximum':
      return `${what} must be at most ${params.limit}`
    case 'minItems':
      return params.limit === 1 ? `${what} must not be empty` : `${what} must have at least ${params.limit} entries`
    case 'maxItems':
      return `${what} must have at most ${params.limit} entries`
    case 'uniqueItems':
      return `${what} must not name anything twice`
    case 'pattern':
      return `${what} does not have the right form`
    case 'const':
      return `${what} must be ${JSON.stringify(params.allowedValue)}`
    case 'anyOf':
    case 'boolean':
      return undefined
    default:
      return `${what} is not valid`
  }
}

/** For a value with several possible types, the single problem is that it has none of them. */
function joinTypes(problems: readonly Problem[]): Problem[] {
  const joinedProblems = new Map<string, Problem>()
  for (const problem of problems) {
    const key = problem.keyword === 'type' ? problem.instancePath : JSON.stringify(problem)
    const before = joinedProblems.get(key)
    const types = [before, problem].flatMap((one) => (one?.keyword === 'type' ? one.params.type : []))
    joinedProblems.set(key, problem.keyword === 'type' ? { ...problem, params: { type: types } } : problem)
  }
  return [...joinedProblems.values()]
}

/** Refuses text that cannot be stored, and input too deep or too large to be checked safely. */
function checkParts(input: unknown): void {
  let parts = 0
  function checkText(text: string): void {
    if (!isStorableText(text)) throw invalid('The input holds a character that cannot be stored.')
  }
  function checkCount(entries: number): void {
    parts += entries
    if (entries > maxEntries) throw invalid(`The input has a list or an object of more than ${maxEntries} entries.`)
    if (parts > maxParts) throw invalid(`The input has more than ${maxParts} parts.`)
  }
  function check(value: unknown, depth: number): void {
    if (typeof value === 'string') checkText(value)
    if (typeof value !== 'object' || value === null) return
    if (depth >= maxDepth) throw invalid(`The input is nested more than ${maxDepth} deep.`)
    if (Array.isArray(value)) {
      checkCount(value.length)
      for (const item of value) check(item, depth + 1)
      return
    }
    const keys = Object.keys(value)
    checkCount(keys.length)
    for (const key of keys) {
      checkText(key)
      check((value as Record<string, unknown>)[key], depth + 1)
    }
  }
  check(input, 0)
}

/** The entries of a list or an object that is too long are not checked, because describing all problems could take forever. */
function checkLengths({ properties }: TObject, input: unknown): void {
  const tooLong = Object.entries(properties as Record<string, { maxItems?: number; maxProperties?: number }>).flatMap(
    ([name, { maxItems = Number.POSITIVE_INFINITY, maxProperties = Number.POSITIVE_INFINITY }]) => {
      const value = (input as Record<string, unknown> | null)?.[name]
      if (Array.isArray(value)) return value.length > maxItems ? [`${name} must have at most ${maxItems} entries`] : []
      const isObject = typeof value === 'object' && value !== null
      return isObject && Object.keys(value).length > maxProperties
        ? [`${name} must have at most ${maxProperties} keys`]
        : []
    },
  )
  if (tooLong.length > 0) throw invalid(`${tooLong.join('; ')}.`)
}

interface Rule {
  holds(value: unknown): boolean
  problem: string
}

const rules = Symbol('rules')

/**
 * A schema with a rule that JSON Schema cannot express, for the whole input or for a field at any depth. `problem` follows the
 * name of the field.
 */
export const withRule = <Of extends TSchema>(
  schema: Of,
  problem: string,
  holds: (value: Static<Of>) => boolean,
): Of => ({
  ...schema,
  [rules]: [...((schema as RuledSchema)[rules] ?? []), { holds, problem }],
})

interface RuledSchema {
  type?: string
  properties?: Record<string, RuledSchema>
  [rules]?: Rule[]
}

/** The rules that the input breaks. A text that is not valid for another reason is not checked. */
function findBrokenRules(schema: RuledSchema, input: unknown, isFaulty: (path: string) => boolean): string[] {
  function check({ type, properties = {}, [rules]: own = [] }: RuledSchema, value: unknown, path: string): string[] {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    const isChecked = type === 'object' ? isObject : typeof value === type && !isFaulty(path)
    const broken = isChecked ? own.filter(({ holds }) => !holds(value)) : []
    return [
      ...broken.map(({ problem }) => `${path} ${problem}`.trimStart()),
      ...Object.entries(isObject ? properties : {}).flatMap(([name, field]) =>
        Object.hasOwn(value as object, name)
          ? check(field, (value as Record<string, unknown>)[name], joined(path, name))
          : [],
      ),
    ]
  }
  return check(schema, input, '')
}

/** Validates the input, or throws an error that lists all problems. Nothing is coerced, dropped or filled in. */
export function checkInput<Input extends TObject>(schema: Input, input: unknown): Static<Input> {
  checkParts(input)
  checkLengths(schema, input)
  const problems = isValid(schema, input) ? [] : library().Errors(schema, input)[1]
  const faulty = new Set(problems.map(({ instancePath }) => pathOf(instancePath)))
  const broken = findBrokenRules(schema as RuledSchema, input, (path) => faulty.has(path))
  if (problems.length + broken.length === 0) return input as Static<Input>
  const known = Object.keys(schema.properties)
  const described = joinTypes(problems).map((problem) => describe(problem, known))
  const sentences = new Set([...described, ...broken].filter((text) => text !== undefined))
  throw invalid(`${[...sentences].slice(0, maxProblems).join('; ') || 'The input is not valid'}.`)
}
