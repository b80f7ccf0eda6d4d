import { readFileSync } from 'node:fs'
import type { ParseArgsOptionsConfig } from 'node:util'
import { invalid } from '../core/errors.ts'

/** The parts of an input's JSON schema that matter to the command line. */
export interface InputSchema {
  type?: string
  description?: string
  enum?: string[]
  anyOf?: InputSchema[]
  items?: InputSchema
  /** A secret: never an option, which other users of the machine could read. */
  writeOnly?: boolean
  /** The environment variable of a secret. */
  'x-variable'?: string
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** `lifeSeconds` becomes `--life 7d`, with the unit in the value. */
const isDuration = (name: string): boolean => name.endsWith('Seconds')
const isTextList = ({ type, items }: InputSchema): boolean =>
  type === 'array' && (items?.type === 'string' || items?.enum !== undefined)
const isNullableText = ({ anyOf = [] }: InputSchema): boolean => anyOf.some(({ type }) => type === 'string')

export function optionName(name: string): string {
  const shown = isDuration(name) ? name.replace(/Seconds$/, '') : name
  return shown.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

export function optionConfig(name: string, schema: InputSchema): ParseArgsOptionsConfig[string] {
  if (schema.type === 'boolean') return { type: 'boolean' }
  return { type: 'string', multiple: isTextList(schema) || name === 'filters' }
}

export function placeholderOf(name: string, schema: InputSchema): string {
  if (schema.type === 'boolean') return ''
  const allowed = schema.enum ?? schema.items?.enum
  if (allowed) return allowed.join('|')
  if (isDuration(name)) return '<30m|24h|7d>'
  if (schema.type === 'integer') return '<number>'
  if (name === 'filters') return '<field=value>'
  return schema.type === 'string' || isNullableText(schema) || isTextList(schema) ? '<text>' : '<json|@file>'
}

function parseDuration(option: string, text: string): number {
  const [, amount, unit = 's'] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? []
  if (amount === undefined) throw invalid(`${option} takes a duration such as 30m, 24h or 7d.`)
  return Number(amount) * (unitSeconds[unit] ?? 1)
}

function parseNumber(option: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw invalid(`${option} takes a whole number.`)
  return Number(text)
}

/** Literal JSON, a file as `@file`, or standard input as `-`. */
function parseJson(option: string, text: string): unknown {
  const source =
    text === '-' ? readFileSync(0, 'utf8') : text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text
  try {
    return JSON.parse(source)
  } catch (error) {
    throw invalid(`${option} is not JSON: ${(error as Error).message}. To read a file, write @file.json.`)
  }
}

function parseFilters(texts: readonly string[]): Record<string, string[]> {
  const filters: Record<string, string[]> = {}
  for (const text of texts) {
    const [, field, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (field === undefined)
      throw invalid('--filters takes field=value or field[operator]=value; give it several times for several.')
    filters[field] = [...(filters[field] ?? []), value]
  }
  return filters
}

/** Converts an option's text to the value that the verb expects. */
export function parseOption(name: string, schema: InputSchema, value: string | boolean | string[]): unknown {
  const option = `--${optionName(name)}`
  if (typeof value === 'boolean') return value
  if (Array.isArray(value)) return name === 'filters' ? parseFilters(value) : value
  if (isDuration(name)) return parseDuration(option, value)
  if (schema.type === 'integer') return parseNumber(option, value)
  if (isNullableText(schema)) return value === 'null' ? null : value
  return schema.type === 'string' || schema.enum ? value : parseJson(option, value)
}
