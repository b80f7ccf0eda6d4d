import type { FastifySchemaCompiler } from 'fastify'
import { isStorableText } from '../content/validate.ts'
import { invalid } from '../errors.ts'

/** The JSON schemas that a query string can be described by. */
interface ParameterSchema {
  /** Where there is none, the schema lists the texts that are allowed. */
  type?: 'string' | 'integer' | 'boolean' | 'object'
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  /** Of an object: its names, where they are fixed. */
  properties?: Record<string, ParameterSchema>
}

export interface QuerySchema {
  properties: Record<string, ParameterSchema>
  required?: string[]
}

/** As Fastify parses it: flat names, and a list where a name was repeated. */
export type RawQuery = Readonly<Record<string, string | string[]>>

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

/** `name[key]=value` parameters as one object: with fixed names a value each, with free ones a list of values each. */
function parseBracketed(name: string, raw: RawQuery, { properties }: ParameterSchema): object | undefined {
  const found: [string, unknown][] = []
  for (const [parameter, value] of Object.entries(raw)) {
    if (parameter !== name && !parameter.startsWith(`${name}[`)) continue
    const key = /^[^[]+\[([^[\]]+)\]$/.exec(parameter)?.[1]
    const schema = key !== undefined && properties && Object.hasOwn(properties, key) ? properties[key] : undefined
    if (key === undefined || (properties && !schema)) {
      const keys = properties ? Object.keys(properties).join(' or ') : '<field>'
      throw invalid(`${name} is written ${name}[${keys}]=<value>, with one name in one pair of brackets.`)
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
 * Reads a query string by the schema that also documents it. Nothing is coerced, clamped or dropped: a known
 * parameter is right or the request is refused. Unknown ones are left out.
 */
export function parseQuery({ properties, required = [] }: QuerySchema, raw: RawQuery): Record<string, unknown> {
  checkText(raw)
  const parsed: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(properties)) {
    const value = raw[name]
    if (schema.type === 'object') parsed[name] = parseBracketed(name, raw, schema)
    else if (value !== undefined) parsed[name] = parseSingle(name, value, schema)
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
