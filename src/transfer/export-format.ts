import { reviewStates, type StoredSite, submissionTypes } from '../content/model.ts'
import { parseDateTime } from '../content/moments.ts'
import { orderStatuses } from '../content/orders.ts'
import { type Field, isRecord, mediaTypes } from '../content/schema.ts'
import { type Check, count, flag, listOf, memberPath, must, text, textThatMust } from '../content/shapes.ts'
import { isStorableText } from '../content/texts.ts'
import { idPattern } from '../core/ids.ts'
import { isTier, type Tier, tiers } from '../core/tiers.ts'

const maxDepth = 40

function problemOf(value: unknown): string | undefined {
  if (typeof value === 'string' && !isStorableText(value)) return 'contains a character that cannot be stored'
  // JSON.parse reads 1e999 as Infinity, which JSON.stringify writes as null: a silent change.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'contains a number that cannot be stored'
  if (!isRecord(value)) return undefined
  if (Object.hasOwn(value, '__proto__')) return 'has the key __proto__, which cannot be used'
  return Object.keys(value).every(isStorableText) ? undefined : 'has a key with a character that cannot be stored'
}

/** Why parsed JSON cannot be stored. Level by level: hostile nesting must not overflow the stack. */
export function storageProblem(value: unknown): string | undefined {
  let level = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return `is nested more than ${maxDepth} deep`
    for (const item of level) {
      const problem = problemOf(item)
      if (problem !== undefined) return problem
    }
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
  }
  return undefined
}

/**
 * An exported group is a folder: `group.ndjson` with one JSON object per line, and the files below `media/`. The order of
 * the lines: head; sites; containers, each followed by its objects ordered by id, each object followed by its former
 * versions; items of the media library; orders ordered by id; files; end. Ids are kept, because answers and media keys
 * contain them. Secrets and payment accounts are not exported: products and orders refer to accounts by their handles.
 */
export const exportFormat = 4
/** Written before version 0.3, without a library: content referred to files directly. */
export const formatWithoutLibrary = 1
/** Readable formats. Version 0.3 wrote format 2, without orders; versions before 0.8 wrote format 3, without working copies. */
export const knownFormats: readonly number[] = [formatWithoutLibrary, 2, 3, exportFormat]
export const linesFile = 'group.ndjson'
export const mediaFolder = 'media'

/** A check with the type of the values that pass it. */
type Shape<Value> = Check & { readonly passes?: Value }
type ValueOf<AnyShape> = AnyShape extends Shape<infer Value> ? Value : never
const shape = <Value>(check: Check): Shape<Value> => check

const maxNameLength = 200
const maxWordLength = 1000
/** An index entry must stay below a third of a PostgreSQL page. */
const maxIndexedBytes = 500
/** Far below the limit of an integer column. */
const maxVersion = 1_000_000_000
const maxVersionsKept = 10_000
const maxPixels = 1_000_000_000
const maxPlaceholderLength = 10_000
const maxDerivatives = 50

const textShape = (rule: string, holds: (text: string) => boolean): Shape<string> => textThatMust(rule, holds)
const numberShape = (rule: string, holds: (value: unknown) => boolean): Shape<number> => must(rule, holds)
const string = shape<string>(text)
const boolean = shape<boolean>(flag)
const whole = shape<number>(count)
const id = textShape('be an id of 24 hex digits', (value) => idPattern.test(value))
const moment = textShape('be a moment such as 2026-03-01T09:30:00.000Z', (value) => parseDateTime(value) !== undefined)
const version = numberShape(
  'be a whole number from 1 on',
  (value) => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= maxVersion,
)
const name = textShape(
  `be 1 to ${maxNameLength} printable characters`,
  (value) => value.trim() !== '' && value.length <= maxNameLength && isStorableText(value) && !/\p{Cc}/u.test(value),
)
const word = textShape(
  `be a text of at most ${maxWordLength} characters`,
  (value) => value.length <= maxWordLength && isStorableText(value),
)
const indexedText = textShape(
  `be a text of at most ${maxIndexedBytes} bytes`,
  (value) => Buffer.byteLength(value) <= maxIndexedBytes && isStorableText(value),
)
const anyText = textShape('be a text that can be stored', isStorableText)
const sha256 = textShape('be a SHA-256 of 64 hex digits', (value) => /^[0-9a-f]{64}$/.test(value))

const orNull = <Value>(check: Shape<Value>): Shape<Value | null> =>
  shape((path, value) => (value === null ? [] : check(path, value)))

const oneOf = <const Value extends string>(values: readonly Value[]): Shape<Value> =>
  shape(textThatMust(`be one of ${values.join(', ')}`, (value) => values.some((known) => known === value)))

const list = <Value>(entry: Shape<Value>, maxEntries?: number): Shape<Value[]> => shape(listOf(entry, maxEntries))

const storable = <Value>(): Shape<Value> =>
  shape((path, value) => {
    if (!isRecord(value)) return [`${path} must be an object`]
    const problem = storageProblem(value)
    return problem === undefined ? [] : [`${path} ${problem}`]
  })

type Members = Readonly<Record<string, Shape<unknown>>>
type ObjectOf<AnyMembers, Optional extends keyof AnyMembers> = {
  [Key in Exclude<keyof AnyMembers, Optional>]: ValueOf<AnyMembers[Key]>
} & { [Key in Optional]?: ValueOf<AnyMembers[Key]> }

/** An object without unknown members: a misspelt or newer one must not be dropped silently. */
function object<const AnyMembers extends Members, Optional extends keyof AnyMembers & string = never>(
  members: AnyMembers,
  optional: readonly Optional[] = [],
): Shape<ObjectOf<AnyMembers, Optional>> {
  const optionalKeys: readonly string[] = optional
  return shape((path, value) => {
    if (!isRecord(value)) return [`${path} must be an object`]
    const at = (key: string): string => (path === '' ? memberPath('', key).slice(1) : memberPath(path, key))
    const unknown = Object.keys(value).filter((key) => !Object.hasOwn(members, key))
    return [
      ...unknown.map((key) => `${at(key)} is unknown`),
      ...Object.entries(members).flatMap(([key, check]) => {
        if (Object.hasOwn(value, key)) return check(at(key), value[key])
        return optionalKeys.includes(key) ? [] : [`${at(key)} is missing`]
      }),
    ]
  })
}

/** The shape was chosen by the type, which therefore needs no check. */
const type = <const Type extends string>(_: Type): Shape<Type> => shape(text)

const containerSettings = object({ accepts: list(oneOf(submissionTypes)), moderation: boolean, hourlyLimit: whole }, [
  'accepts',
  'moderation',
  'hourlyLimit',
])

const dates = { createdAt: moment, updatedAt: moment }
const container = <const Kind extends 'collection' | 'integration'>(kind: Kind) =>
  object({
    type: type(kind),
    id,
    name,
    schema: storable<Record<string, Field>>(),
    settings: containerSettings,
    version,
    ...dates,
  })

const pixels = numberShape(
  `be a whole number from 1 to ${maxPixels}`,
  (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maxPixels,
)
const libraryFile = object({
  id,
  key: string,
  sha256,
  bytes: whole,
  contentType: textShape('be a content type such as image/png', (value) =>
    /^[\w.+-]{1,60}\/[\w.+-]{1,100}$/.test(value),
  ),
  width: orNull(pixels),
  height: orNull(pixels),
  color: orNull(textShape('be a color such as #aa4400', (value) => /^#[0-9a-f]{6}$/.test(value))),
  placeholder: orNull(
    textShape(
      'be a small picture as a data URL',
      (value) => value.length <= maxPlaceholderLength && /^data:image\/[a-z]+;base64,[\w+/=]+$/.test(value),
    ),
  ),
  derivatives: list(
    object({ width: pixels, format: oneOf(['webp', 'avif']), key: string, bytes: whole }),
    maxDerivatives,
  ),
  problem: orNull(word),
  createdAt: moment,
})

const amount = textShape('be an amount such as 12.50', (value) => /^-?\d{1,20}(\.\d{1,20})?$/.test(value))
const textOrNull = orNull(anyText)
const shipping = object({
  name: textOrNull,
  address: object({
    line1: textOrNull,
    line2: textOrNull,
    city: textOrNull,
    state: textOrNull,
    postalCode: textOrNull,
    country: textOrNull,
  }),
})
const order = object({
  type: type('order'),
  id,
  integrationType: indexedText,
  accountHandle: indexedText,
  sessionId: indexedText,
  status: oneOf(orderStatuses),
  live: boolean,
  mode: oneOf(['payment', 'subscription']),
  currency: anyText,
  subtotal: amount,
  total: amount,
  email: textOrNull,
  name: textOrNull,
  phone: textOrNull,
  shipping: orNull(shipping),
  lines: list(object({ description: anyText, priceId: textOrNull, productId: textOrNull, quantity: whole, amount })),
  paymentId: textOrNull,
  siteId: textOrNull,
  ...dates,
})

/** The unpublished value of an object or of a site's settings, with its base. */
const workingCopy = object({
  value: storable<Record<string, unknown>>(),
  baseValue: storable<Record<string, unknown>>(),
  baseVersion: version,
  publishAt: orNull(moment),
  problem: orNull(word),
  savedAt: moment,
  savedBy: word,
})

/** The shape of each type of line. `import/check-export.ts` checks the content. */
const lineShapes = {
  'sluice-export': object({
    type: type('sluice-export'),
    format: numberShape(`be one of ${knownFormats.join(', ')}`, (value) => knownFormats.includes(value as number)),
    groupId: id,
    name,
    tier: shape<Tier>(textThatMust(`be one of ${tiers.join(', ')}`, isTier)),
    versionsKept: numberShape(
      `be a whole number from 0 to ${maxVersionsKept}`,
      (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxVersionsKept,
    ),
    exportedAt: moment,
  }),
  site: object(
    {
      type: type('site'),
      id,
      name: string,
      domainName: string,
      settings: storable<StoredSite['settings']>(),
      privateSettings: storable<StoredSite['privateSettings']>(),
      version,
      ...dates,
      workingCopy,
    },
    ['workingCopy'],
  ),
  collection: container('collection'),
  integration: container('integration'),
  object: object(
    {
      type: type('object'),
      id,
      objectValue: storable<Record<string, unknown>>(),
      publishDate: orNull(moment),
      archived: boolean,
      archiveDate: moment,
      ...dates,
      externalId: orNull(indexedText),
      accountHandle: indexedText,
      version,
      changedBy: word,
      change: word,
      review: orNull(oneOf(reviewStates)),
      workingCopy,
    },
    ['archiveDate', 'workingCopy'],
  ),
  version: object({
    type: type('version'),
    version,
    objectValue: storable<Record<string, unknown>>(),
    publishDate: orNull(moment),
    archived: boolean,
    changedAt: moment,
    changedBy: word,
    change: word,
  }),
  libraryItem: object({
    type: type('libraryItem'),
    id,
    key: string,
    name,
    mediaType: oneOf(mediaTypes),
    version,
    ...dates,
    file: libraryFile,
  }),
  order,
  media: object({ type: type('media'), key: string, bytes: whole, sha256 }),
  end: object(
    {
      type: type('end'),
      lines: whole,
      sites: whole,
      collections: whole,
      integrations: whole,
      objects: whole,
      versions: whole,
      libraryItems: whole,
      orders: whole,
      media: whole,
      sha256,
    },
    ['libraryItems', 'orders'],
  ),
}

export type LineType = keyof typeof lineShapes
type Line<Type extends LineType> = ValueOf<(typeof lineShapes)[Type]>
export type HeadLine = Line<'sluice-export'>
export type SiteLine = Line<'site'>
export type CopyPart = ValueOf<typeof workingCopy>
export type ContainerLine = Line<'collection' | 'integration'>
export type ObjectLine = Line<'object'>
export type VersionLine = Line<'version'>
/** An item with the record of its file, which several items may share. */
export type LibraryItemLine = Line<'libraryItem'>
/** The order's account need not be connected here. */
export type OrderLine = Line<'order'>
/** A file below `media/`. */
export type MediaLine = Line<'media'>
/** Counts and a digest, which show that nothing is missing. */
export type EndLine = Line<'end'>
export type ExportLine = Line<LineType>

const isLineType = (value: unknown): value is LineType => typeof value === 'string' && Object.hasOwn(lineShapes, value)

export function toExportLine(value: unknown): { line: ExportLine } | { problems: string[] } {
  const lineType = isRecord(value) ? value.type : undefined
  if (!isLineType(lineType))
    return { problems: [`is not a line of an export: its type must be one of ${Object.keys(lineShapes).join(', ')}`] }
  const problems = lineShapes[lineType]('', value)
  return problems.length > 0 ? { problems } : { line: value as ExportLine }
}

const countNames = {
  site: 'sites',
  collection: 'collections',
  integration: 'integrations',
  object: 'objects',
  version: 'versions',
  libraryItem: 'libraryItems',
  order: 'orders',
  media: 'media',
} as const satisfies Partial<Record<LineType, string>>
type CountName = (typeof countNames)[keyof typeof countNames]

/** The number of lines of each kind. */
export type Counts = Record<CountName, number>

export const noCounts = () => Object.fromEntries(Object.values(countNames).map((name) => [name, 0])) as Counts

export function countLine(counts: Counts, type: LineType): void {
  const name = (countNames as Partial<Record<LineType, CountName>>)[type]
  if (name !== undefined) counts[name] += 1
}
