/** The costliest values that a JSON schema allows. */

export interface ValueSchema {
  type?: string
  properties?: Record<string, ValueSchema>
  required?: string[]
  patternProperties?: Record<string, ValueSchema>
  additionalProperties?: boolean | ValueSchema
  items?: ValueSchema
  anyOf?: ValueSchema[]
  enum?: unknown[]
  const?: unknown
  pattern?: string
  format?: string
  maxLength?: number
  minimum?: number
  maximum?: number
  maxItems?: number
}

const repeat = (unit: string) => (length: number) => unit.repeat(Math.floor(length / unit.length))
const framed = (begin: string, unit: string, end: string) => (length: number) =>
  begin + unit.repeat(Math.max(0, Math.floor((length - begin.length - end.length) / unit.length))) + end

/** Texts that are slow for some algorithm: searches, regular expressions, markup parsers, escaping. */
export const alphabets: Record<string, (length: number) => string> = {
  'a…ab': (length) => `${'a'.repeat(Math.max(0, length - 1))}b`,
  'definition list': framed('<dl>', '<dt>a<dd>b', '</dl>'),
  'nested elements': repeat('<b>'),
  'nested tables': repeat('<table><tr><td>'),
  'unclosed comments': repeat('<!--'),
  'unclosed tags': repeat('<a '),
  attributes: framed('<p ', 'a=b ', '>x</p>'),
  styles: framed('<p style="', 'color:red;', '">x</p>'),
  'media links': repeat('<img src="media:a/b.png">'),
  brackets: repeat('['),
  entities: repeat('&amp;'),
  'open entities': repeat('&'),
  blanks: (length) => `a${' '.repeat(Math.max(0, length - 2))}b`,
  'line ends': repeat('\n'),
  emoji: repeat('👩‍👩‍👧'),
  accents: repeat(`a${'\u0301'.repeat(30)}`),
  quotes: repeat('"\\'),
  slug: (length) => `${repeat('a-')(length - 1)}!`,
  address: (length) => `${'a.'.repeat(Math.max(0, Math.floor((length - 4) / 2)))}a@@`,
}

/** Bodies that are expensive to parse under any schema. */
export const rawBodies: Record<string, (bytes: number) => string> = {
  '[ × size': repeat('['),
  'deepest objects': repeat('{"a":'),
  'deepest, closed': (bytes) => {
    const depth = Math.floor(bytes / 2)
    return '['.repeat(depth) + ']'.repeat(depth)
  },
  'one name, repeated': framed('{"x":0', ',"a":1', '}'),
  'other names': (bytes) => {
    const count = Math.floor(bytes / 12)
    return `{${Array.from({ length: count }, (_, index) => `"${String(index).padStart(7, 'k')}":1`).join(',')}}`
  },
  'one text': framed('{"x":"', 'a', '"}'),
  escapes: framed('{"x":"', '\\u0061', '"}'),
  'long number': framed('{"x":', '9', '}'),
  'list of numbers': framed('{"x":[0', ',0', ']}'),
  'list of lists': framed('{"x":[0', ',[]', ']}'),
  'list of objects': framed('{"x":[0', ',{"a":{}}', ']}'),
  blanks: framed('{', ' ', '}'),
}

const depth = 38
const entries = 9_999
const parts = 140_000

/** Objects with arbitrary keys. */
export const openObjects: Record<string, (bytes: number) => object> = {
  'most keys': () => Object.fromEntries(Array.from({ length: entries }, (_, index) => [`k${index}`, index])),
  deepest: () => {
    let value: object = { end: 'x' }
    for (let level = 0; level < depth; level += 1) value = { [`level${level}`]: value }
    return value
  },
  'most parts': () =>
    Object.fromEntries(
      Array.from({ length: Math.floor(parts / entries) }, (_, index) => [
        `list${index}`,
        Array.from({ length: entries - 1 }, (_value, at) => at % 10),
      ]),
    ),
}

const isFixed = (schema: ValueSchema): boolean =>
  schema.enum !== undefined ||
  schema.const !== undefined ||
  schema.pattern !== undefined ||
  schema.format !== undefined ||
  schema.type === 'boolean'

const isOpen = ({ type, properties, patternProperties }: ValueSchema): boolean =>
  patternProperties !== undefined || (type === 'object' && properties === undefined)

export interface Filling {
  text(length: number): string
  openObject?: ((bytes: number) => object) | undefined
  /** Lists of maximum length. */
  isLong?: boolean
}

const maxListItems = 10_000

/** `given` is a valid value, kept where nothing more expensive is possible. */
export function worstValue(schema: ValueSchema, given: unknown, bytes: number, filling: Filling): unknown {
  const choices = schema.anyOf ?? [schema]
  const chosen = choices.find(({ type }) => type !== 'null') ?? schema
  if (isFixed(chosen)) return given
  if (isOpen(chosen)) return filling.openObject?.(bytes) ?? given
  switch (chosen.type) {
    case 'string':
      return filling.text(Math.min(chosen.maxLength ?? bytes, bytes))
    case 'integer':
    case 'number':
      return given ?? chosen.maximum
    case 'array':
      return worstList(chosen, given, bytes, filling)
    case 'object':
      return worstObject(chosen, given, bytes, filling)
    default:
      return given
  }
}

function worstList(
  { items = {}, maxItems = maxListItems }: ValueSchema,
  given: unknown,
  bytes: number,
  filling: Filling,
) {
  const [first] = Array.isArray(given) ? given : []
  const itemBytes = Math.max(8, JSON.stringify(worstValue(items, first, 8, filling) ?? '')?.length ?? 8)
  const count = filling.isLong ? Math.min(maxItems, Math.floor(bytes / (itemBytes + 1))) : Math.min(maxItems, 10)
  const each = filling.isLong ? 8 : Math.floor(bytes / Math.max(1, count))
  return Array.from({ length: count }, () => worstValue(items, first, each, filling))
}

/** Ids and versions are kept, because they select the subject. */
const leadsSomewhere = (name: string): boolean => /(^|[a-z])(id|Id|version|Version|confirm|email|to)$/.test(name)

function worstObject({ properties = {} }: ValueSchema, given: unknown, bytes: number, filling: Filling): object {
  const base = (given ?? {}) as Record<string, unknown>
  const names = Object.keys(properties)
  const each = Math.floor(bytes / Math.max(1, names.length))
  const found: Record<string, unknown> = { ...base }
  for (const name of names) {
    if (leadsSomewhere(name)) continue
    const value = worstValue(properties[name] ?? {}, base[name], each, filling)
    if (value !== undefined) found[name] = value
  }
  return found
}

/** The kinds of values in a schema, so that only applicable variants are tried. */
export function holds(schema: ValueSchema, what: 'text' | 'list' | 'open'): boolean {
  if (isFixed(schema)) return false
  if (isOpen(schema)) return what === 'open'
  if (schema.type === 'string') return what === 'text'
  if (schema.type === 'array' && what === 'list') return true
  const inner = [...(schema.anyOf ?? []), ...Object.values(schema.properties ?? {}), ...[schema.items ?? []].flat()]
  return inner.some((part) => holds(part, what))
}
