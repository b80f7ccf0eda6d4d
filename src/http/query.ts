import { parse } from 'node:querystring'
import type { FastifySchemaCompiler } from 'fastify'
import { maxLimit } from '../content/list-query.ts'
import { isStorableText } from '../content/texts.ts'
import { invalid } from '../core/errors.ts'
import { Type } from '../core/type.ts'

/** The JSON schemas for parameters of a query string. */
interface ParameterSchema {
  /** Undefined in an enumeration of allowed texts. */
  type?: 'string' | 'integer' | 'boolean' | 'object'
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  /** For an object: its names, if they are fixed. */
  properties?: Record<string, ParameterSchema>
}

export interface QuerySchema {
  properties: Record<string, ParameterSchema>
  required?: string[]
}

/** Flat names; a list for repeated names. */
export type RawQuery = Readonly<Record<string, string | string[]>>

/** Invalid percent-encoding is kept unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function queryOf(url: string): string {
  const end = url.search(/[?#]/) // where Fastify ends the path
  return end === -1 ? '' : url.slice(end + 1)
}

/** Splits a query string; Fastify uses it, too, so that all endpoints agree. */
export const splitQuery = (text: string): RawQuery =>
  parse(text, '&', '=', { maxKeys: 0, decodeURIComponent: decode }) as RawQuery

function parseInteger(
  name: string,
  text: string,
  { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: ParameterSchema,
): number {
  const value = Number(text)
  if (!/^\d{1,16}$/.test(text) || value < minimum || value > maximum) {
    throw invalid(`${name} must be a whole number from ${minimum} to ${maximum}.`)
  }
  return value
}

function parseString(name: string, text: string, { minLength = 0, maxLength }: ParameterSchema): string {
  if (text.length < minLength) throw invalid(`${name} must not be empty.`)
  if (maxLength !== undefined && text.length > maxLength) {
    throw invalid(`${name} must have at most ${maxLength} characters.`)
  }
  return text
}

function parseBoolean(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw invalid(`${name} must be true or false.`)
  return text === 'true'
}

function parseSingle(name: string, value: string | string[], schema: ParameterSchema): string | number | boolean {
  if (typeof value !== 'string') throw invalid(`${name} must be given once.`)
  if (schema.type === 'boolean') return parseBoolean(name, value)
  return schema.type === 'integer' ? parseInteger(name, value, schema) : parseString(name, value, schema)
}

const maxShownName = 64
const spelling = (name: string): string => name.toLowerCase().replace(/[^a-z]|s$/g, '')
/** In URL notation. A free name may be followed by an operator. */
const shapeOf = (name: string, { properties }: ParameterSchema): string =>
  `${name}[${properties ? Object.keys(properties).join(' or ') : '<field>'}]`

/**
 * An unknown name in brackets is a misspelt filter, and the list without it would look right, so it is refused. Other unknown
 * names are ignored: clients may send parameters of newer versions.
 */
function refuseMisspelt({ properties }: QuerySchema, raw: RawQuery): void {
  const bracketed = Object.entries(properties).filter(([, { type }]) => type === 'object')
  if (bracketed.length === 0) return
  for (const parameter of Object.keys(raw)) {
    const [, name, rest = ''] = /^([^[]*)(\[.*)$/s.exec(parameter) ?? []
    if (name === undefined || bracketed.some(([known]) => known === name)) continue
    const shown = parameter.slice(0, maxShownName)
    if (Object.hasOwn(properties, name)) throw invalid(`${shown} is not a parameter. Write ${name}=<value>.`)
    const meant = bracketed.find(([known]) => spelling(known) === spelling(name))?.[0]
    if (meant !== undefined)
      throw invalid(`${shown} is not a parameter. Write ${`${meant}${rest}`.slice(0, maxShownName)}.`)
    const known = bracketed.map(([each, schema]) => shapeOf(each, schema)).join(' and ')
    throw invalid(`${shown} is not a parameter. With brackets there are ${known}.`)
  }
}

/**
 * Combines `name[key]=value` parameters into an object: fixed names have a value each, free names a list of values each. A free
 * name may have an operator, `name[key][operator]=value`, and is then `key[operator]`.
 */
function parseBracketed(name: string, raw: RawQuery, whole: ParameterSchema): object | undefined {
  const { properties } = whole
  const found: [string, unknown][] = []
  for (const [parameter, value] of Object.entries(raw)) {
    if (parameter !== name && !parameter.startsWith(`${name}[`)) continue
    const [, bare, operator] = /^[^[]+\[([^[\]]+)\](\[[^[\]]+\])?$/.exec(parameter) ?? []
    const key = bare === undefined || operator === undefined ? bare : bare + operator
    const schema = key !== undefined && properties && Object.hasOwn(properties, key) ? properties[key] : undefined
    if (key === undefined || (properties && !schema)) {
      const operated = properties ? '' : ` or ${shapeOf(name, whole)}[<operator>]=<value>`
      throw invalid(
        `${name} is written ${shapeOf(name, whole)}=<value>${operated}, with one name in a pair of brackets.`,
      )
    }
    found.push([key, schema ? parseSingle(parameter, value, schema) : [value].flat()])
  }
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

function checkText(raw: RawQuery): void {
  if (Object.entries(raw).flat(2).every(isStorableText)) return
  throw invalid('The query string holds a character that cannot be used.')
}

/**
 * Reads a query string by the schema that also documents it. Known parameters are neither coerced nor clamped: an invalid one
 * is refused. Unknown ones are ignored, unless they have brackets.
 */
export function parseQuery(schema: QuerySchema, raw: RawQuery): Record<string, unknown> {
  const { properties, required = [] } = schema
  checkText(raw)
  refuseMisspelt(schema, raw)
  const parsed: Record<string, unknown> = {}
  for (const [name, parameter] of Object.entries(properties)) {
    const value = raw[name]
    if (parameter.type === 'object') parsed[name] = parseBracketed(name, raw, parameter)
    else if (value !== undefined) parsed[name] = parseSingle(name, value, parameter)
    else if (required.includes(name)) throw invalid(`${name} is required.`)
  }
  return parsed
}

export const compileQuery: FastifySchemaCompiler<QuerySchema> = ({ schema }) => {
  return (raw: RawQuery) => {
    try {
      return { value: parseQuery(schema, raw) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}

/** Query parameters that several endpoints share; one schema validates, types and documents each. */
export const idParameter = (description: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 100, description, examples: [example] })

export const limitParameter = Type.Optional(
  Type.Integer({ minimum: 1, maximum: maxLimit, default: maxLimit, description: 'Maximum number of items.' }),
)

export const skipParameter = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0, description: 'Number of matches to skip.' }),
)

export const afterParameter = Type.Optional(
  Type.String({
    maxLength: 10_000,
    description:
      'Pages by cursor instead of `skip`: empty for the first page, then `nextCursor` of the page before, with the same filters, search and sort. Takes the same time at any depth, and repeats and skips nothing while content is written.',
  }),
)

export const sortParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    description:
      '`<field>:asc` or `<field>:desc`, up to 5 separated by commas, most important first; or `relevance`, alone and with a search.',
    examples: ['publishDate:desc'],
  }),
)

export const searchParameter = Type.Optional(
  Type.String({ maxLength: 200, description: 'Words that must all occur, in any case.', examples: ['sourdough'] }),
)

export const previewParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    description:
      'The token of a preview of the whole site: working copies are delivered in place of live values, and drafts and scheduled items are included. Such an answer is never cached.',
  }),
)

export const fieldsParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 5000,
    description: 'Only these fields of `objectValue`, separated by commas. `_id` and `mediaFields` are always there.',
    examples: ['title,slug'],
  }),
)

export const expandParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 2000,
    description:
      'References to expand, up to 20 paths separated by commas: `author,related.author` adds `expanded` to each item, with the visible objects that its fields refer to. A single one that is not visible is `null`; in a list it is left out. At most 3 references in a row.',
    examples: ['author,related.author'],
  }),
)

export const filtersParameter = (example: Record<string, string[]>) =>
  Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description:
        '`filters[<field>]=<value>`: exact, case-sensitive. Several fields must all match; of a repeated field any value. `filters[<field>][<operator>]=<value>`: `gte`, `gt`, `lte` and `lt` compare in the order of `sort`, `ne` excludes a value, `exists` is `true` or `false`; all of them are required, also on `publishDate`, `createdAt`, `updatedAt` and `_id`. At most 12 fields and 50 values.',
      examples: [example],
    }),
  )
