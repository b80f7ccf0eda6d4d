import type { FastifySchemaCompiler } from 'fastify'
import { isStorableText } from '../content/validate.ts'
import { invalid } from '../errors.ts'

interface PropertySchema {
  type?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}

interface QuerySchema {
  properties: Record<string, PropertySchema>
  required?: string[]
}

function parseInteger(
  name: string,
  text: string,
  { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: PropertySchema,
): number {
  const value = Number(text)
  if (!/^\d{1,16}$/.test(text) || value < minimum || value > maximum) {
    throw invalid(`${name} must be a whole number from ${minimum} to ${maximum}.`)
  }
  return value
}

function parseString(name: string, text: string, { minLength = 0, maxLength }: PropertySchema): string {
  if (text.length < minLength) throw invalid(`${name} must not be empty.`)
  if (maxLength !== undefined && text.length > maxLength)
    throw invalid(`${name} must have at most ${maxLength} characters.`)
  return text
}

function checkText(name: string, value: unknown): void {
  const texts = [name, ...(Array.isArray(value) ? value : [value])]
  if (!texts.every((text) => typeof text === 'string' && isStorableText(text))) {
    throw invalid('The query string holds a character that cannot be used.')
  }
}

/**
 * Reads a query string by the schema that also documents it. Nothing is coerced, clamped or dropped: a known
 * parameter is right or the request is refused. Parameters with brackets keep their flat names for the list query.
 */
function parseQuery(schema: QuerySchema, raw: Record<string, unknown>): Record<string, unknown> {
  const parsed: Record<string, unknown> = { ...raw }
  for (const [name, value] of Object.entries(raw)) checkText(name, value)
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = raw[name]
    if (property.type === 'object') continue
    if (value === undefined) {
      if (schema.required?.includes(name)) throw invalid(`${name} is required.`)
      continue
    }
    if (typeof value !== 'string') throw invalid(`${name} must be given once.`)
    parsed[name] =
      property.type === 'integer' ? parseInteger(name, value, property) : parseString(name, value, property)
  }
  return parsed
}

export const compileQuery: FastifySchemaCompiler<QuerySchema> = ({ schema }) => {
  return (raw: Record<string, unknown>) => {
    try {
      return { value: parseQuery(schema, raw) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}
