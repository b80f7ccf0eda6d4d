import {
  type DeliverableObject,
  deliverCollectionObject,
  deliverIntegrationObject,
  type SignMedia,
} from './delivery.ts'
import { type Container, type StoredObject, unsetPublishMs } from './model.ts'
import { toIso } from './moments.ts'
import { type Field, isMedia, isOrHolds, type Schema } from './schema.ts'

/**
 * Builds a page's JSON without parsing values that are delivered unchanged: their stored text is copied into the answer.
 * The bytes equal those of `deliverCollectionObject` and `deliverIntegrationObject`.
 */

/** A published object as it is read from the store, with its value still as JSON text. */
export interface VisibleObject
  extends Pick<StoredObject, 'id' | 'publishMs' | 'createdMs' | 'updatedMs' | 'externalId' | 'accountHandle'> {
  valueText: string
}

/** The JSON around the fields of an object whose value is delivered unchanged. */
export interface Frame {
  before: string
  behind: string
}

/** An object to be delivered: the text of its members and their frame, or its value if that had to be parsed. */
export type OutgoingObject = { object: VisibleObject } & (
  | { frame: Frame; members: string; value?: undefined }
  | { value: Record<string, unknown> }
)

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** The index after the string that begins at `start`; -1 if it does not end. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end - 1
    while (json.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end + 1
  }
  return -1
}

/** The index after the value that begins at `start`; -1 if it does not end. */
function endOfValue(json: string, start: number): number {
  if (json.charCodeAt(start) === quote) return endOfString(json, start)
  let depth = 0
  for (let at = start; at < json.length; at++) {
    const character = json.charCodeAt(at)
    if (character === quote) at = endOfString(json, at) - 1
    else if (depth === 0 && (character === comma || character === closeBrace)) return at
    else if (character === openBracket || character === openBrace) depth++
    else if (character === closeBracket || character === closeBrace) depth--
    if (at < start) return -1
  }
  return -1
}

/** Fields whose values are delivered unchanged, unless a text refers to a file or the value is a variant map. */
interface PlainFields {
  names: ReadonlySet<string>
  /** Those that may have a variant map, as written: `"price":`. */
  variants: ReadonlySet<string>
  /** The fields of the last object in their order, as written: `"title":`. The next object mostly has the same. */
  expected: string[]
}

function plainFieldsOf(schema: Schema): PlainFields {
  const isAltered = (field: Field): boolean => field.private === true || isMedia(field)
  const plain = [...schema].filter(([, field]) => !field.private && !isOrHolds(field, isAltered))
  const variants = plain.filter(([, { type }]) => type === 'variant')
  return {
    names: new Set(plain.map(([name]) => name)),
    variants: new Set(variants.map(([name]) => `"${name}":`)),
    expected: [],
  }
}

/** The index of the value of the plain field whose name begins at `start`; -1 if that is not a plain field. */
function startOfValue(json: string, start: number, { names, expected }: PlainFields, position: number): number {
  const guess = expected[position]
  if (guess !== undefined && json.startsWith(guess, start)) return start + guess.length
  const end = json.indexOf('":', start)
  if (end === -1 || json.charCodeAt(start) !== quote) return -1
  const name = json.slice(start + 1, end)
  if (!names.has(name)) return -1
  expected[position] = `"${name}":`
  return end + 2
}

/** Whether an object has only plain fields, and no variant map. The JSON is scanned, not parsed. */
function hasPlainFields(json: string, fields: PlainFields): boolean {
  if (json === '{}') return true
  let at = 0 // at the brace or the comma before a name
  let position = 0
  do {
    const start = startOfValue(json, at + 1, fields, position)
    if (start === -1) return false
    if (json.charCodeAt(start) === openBrace && fields.variants.has(fields.expected[position] ?? '')) return false
    position++
    at = endOfValue(json, start)
    if (at === -1) return false
  } while (json.charCodeAt(at) === comma)
  return at === json.length - 1
}

/** Which fields to deliver of an object. */
interface Selection {
  shown: Schema
  plain: ReadonlySet<string>
  /** Public fields that may have a variant map, which also appears beside the value. */
  variants: ReadonlySet<string>
}

const selectionOf = (schema: Schema, shown: Schema): Selection => ({
  shown,
  plain: plainFieldsOf(shown).names,
  variants: new Set(
    [...schema].filter(([, field]) => field.type === 'variant' && !field.private).map(([name]) => name),
  ),
})

/** The text of the members to deliver; undefined if one of them has to be altered, or the object may have a variant map. */
function selectMembers(json: string, { shown, plain, variants }: Selection): string | undefined {
  if (json === '{}') return ''
  const members: string[] = []
  let at = 0 // at the brace or the comma before a name
  do {
    const begin = at + 1
    const afterName = endOfString(json, begin)
    if (afterName === -1) return undefined
    const name = json.slice(begin + 1, afterName - 1)
    if (shown.has(name) && !plain.has(name)) return undefined
    if (json.charCodeAt(afterName + 1) === openBrace && variants.has(name)) return undefined
    at = endOfValue(json, afterName + 1)
    if (at === -1) return undefined
    if (shown.has(name)) members.push(json.slice(begin, at))
  } while (json.charCodeAt(at) === comma)
  return at === json.length - 1 ? members.join() : undefined
}

/**
 * Whether a text may refer to a file of the group, see `replaceMediaInHtml`. Its key begins with the group's id, written
 * plainly or with a numeric entity or percent-encoding (whose per cent sign may itself be an entity). A digit or a letter
 * from a to f cannot be written otherwise.
 */
function mayReferToFile(json: string, groupId: string): boolean {
  return (
    json.includes(groupId) ||
    (json.includes('&') && (json.includes('&#') || json.includes('&percnt;'))) ||
    (json.includes('%') && (json.includes('%3') || json.includes('%6')))
  )
}

function stateJson({ publishMs, createdMs, updatedMs }: VisibleObject): string {
  const publishDate = publishMs === unsetPublishMs ? 'null' : `"${toIso(publishMs)}"`
  return `"publishDate":${publishDate},"archived":false,"createdAt":"${toIso(createdMs)}","updatedAt":"${toIso(updatedMs)}"`
}

/** Uses `join`: V8 would flatten a concatenated string again at each use. */
function frameOf({ kind, name, id: refID }: Container, object: VisibleObject): Frame {
  const { id, externalId, accountHandle } = object
  const begin = ['{"_id":"', id, '",']
  const value = ['"objectValue":{"_id":"', id, '",']
  const end = ['"mediaFields":{}},']
  const state = [stateJson(object), '}']
  if (kind === 'collection') {
    const collectionObj = ['"collectionObj":', JSON.stringify({ name, refID }), ',']
    return { before: [...begin, ...value].join(''), behind: [...end, ...collectionObj, ...state].join('') }
  }
  const [itsId = '', type = '', account = ''] = [externalId ?? id, name, accountHandle].map((text) =>
    JSON.stringify(text),
  )
  const origin = ['"id":', itsId, ',"type":', type, ',"platform":', type, ',"accountHandle":', account, ',']
  return { before: [...begin, ...origin, ...value].join(''), behind: [...end, ...state].join('') }
}

/** The frames of a container's objects by object id. */
export interface FrameCache {
  get(objectId: string): Frame | undefined
  set(objectId: string, frame: Frame): void
}

/** Frames the objects whose stored text can be delivered unchanged, and parses the others. */
export function prepareItems(
  container: Container,
  groupId: string,
  objects: readonly VisibleObject[],
  frames: FrameCache,
  shown?: Schema,
): OutgoingObject[] {
  if (shown) return prepareSelected(container, groupId, objects, frames, selectionOf(container.schema, shown))
  let fields: PlainFields | undefined
  return objects.map((object) => {
    const { id, valueText } = object
    const members = valueText.slice(1, -1)
    const cached = frames.get(id)
    if (cached) return { object, frame: cached, members }
    fields ??= plainFieldsOf(container.schema)
    const isPlain = hasPlainFields(valueText, fields) && !mayReferToFile(valueText, groupId)
    if (!isPlain) return { object, value: JSON.parse(valueText) }
    const frame = frameOf(container, object)
    frames.set(id, frame)
    return { object, frame, members }
  })
}

/** A frame is only cached for an object whose whole value can be delivered unchanged. */
function prepareSelected(
  container: Container,
  groupId: string,
  objects: readonly VisibleObject[],
  frames: FrameCache,
  selection: Selection,
): OutgoingObject[] {
  return objects.map((object) => {
    const { id, valueText } = object
    const members = selectMembers(valueText, selection)
    if (members === undefined || mayReferToFile(members, groupId)) return { object, value: JSON.parse(valueText) }
    return { object, frame: frames.get(id) ?? frameOf(container, object), members }
  })
}

/** The items that can contain files. */
export const parsedItems = (outgoing: readonly OutgoingObject[]): { value: Record<string, unknown> }[] =>
  outgoing.flatMap(({ value }) => (value ? [{ value }] : []))

export const readValue = ({ object, value }: OutgoingObject): Record<string, unknown> =>
  value ?? JSON.parse(object.valueText)

export function toDeliverable(outgoing: OutgoingObject): DeliverableObject {
  const { valueText: _, ...object } = outgoing.object
  return { ...object, value: readValue(outgoing), archived: false }
}

/** An item's JSON, in pieces. */
export function itemPieces(
  container: Container,
  outgoing: OutgoingObject,
  sign: SignMedia,
  shown: Schema = container.schema,
): string[] {
  if (outgoing.value) {
    const deliver = container.kind === 'collection' ? deliverCollectionObject : deliverIntegrationObject
    return [JSON.stringify(deliver(container, toDeliverable(outgoing), sign, shown))]
  }
  const { frame, members } = outgoing
  return members === '' ? [frame.before, frame.behind] : [frame.before, members, ',', frame.behind]
}
