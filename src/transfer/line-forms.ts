import { type ContainerSettings, reviewStates, submissionTypes } from '../content/model.ts'
import { parseDateTime } from '../content/moments.ts'
import { orderStatuses } from '../content/orders.ts'
import { isRecord, mediaTypes } from '../content/schema.ts'
import { type Check, count, flag, listOf, memberPath, must, text, textThatMust } from '../content/shapes.ts'
import { isStorableText } from '../content/validate.ts'
import { idPattern } from '../ids.ts'
import { isTier, tiers } from '../tiers.ts'
import { type ExportLine, knownFormats, type LineType } from './export-format.ts'
import { storageProblem } from './storable-json.ts'

/** What each kind of line must look like. What its content must be, beyond that, is for `check-export.ts`. */

const maxNameLength = 200
const maxWordLength = 1000
/** An index entry must stay below a third of a PostgreSQL page. */
const maxIndexedBytes = 500
/** Far below what an integer column takes. */
const mostVersions = 1_000_000_000
const mostVersionsKept = 10_000
/** No side of a picture that can be looked at is longer. */
const mostPixels = 1_000_000_000
const maxPlaceholderLength = 10_000
const mostDerivatives = 50

const id = textThatMust('be an id of 24 hex digits', (value) => idPattern.test(value))
const moment = textThatMust(
  'be a moment such as 2026-03-01T09:30:00.000Z',
  (value) => parseDateTime(value) !== undefined,
)
const version = must(
  'be a whole number from 1 on',
  (value) => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= mostVersions,
)
const name = textThatMust(
  `be 1 to ${maxNameLength} printable characters`,
  (value) => value.trim() !== '' && value.length <= maxNameLength && isStorableText(value) && !/\p{Cc}/u.test(value),
)
const word = textThatMust(
  `be a text of at most ${maxWordLength} characters`,
  (value) => value.length <= maxWordLength && isStorableText(value),
)
const indexedText = textThatMust(
  `be a text of at most ${maxIndexedBytes} bytes`,
  (value) => Buffer.byteLength(value) <= maxIndexedBytes && isStorableText(value),
)
const anyText = textThatMust('be a text that can be stored', isStorableText)
const sha256 = textThatMust('be a SHA-256 of 64 hex digits', (value) => /^[0-9a-f]{64}$/.test(value))

const orNull =
  (check: Check): Check =>
  (path, value) =>
    value === null ? [] : check(path, value)

const oneOf = (values: readonly string[]): Check =>
  textThatMust(`be one of ${values.join(', ')}`, (value) => values.includes(value))

const storableObject: Check = (path, value) => {
  if (!isRecord(value)) return [`${path} must be an object`]
  const problem = storageProblem(value)
  return problem === undefined ? [] : [`${path} ${problem}`]
}

/** An object of known members. A misspelt or a new one must not be dropped without a word. */
function membersOnly(members: Readonly<Record<string, Check>>, optional: readonly string[] = []): Check {
  return (path, value) => {
    if (!isRecord(value)) return [`${path} must be an object`]
    const at = (key: string): string => (path === '' ? memberPath('', key).slice(1) : memberPath(path, key))
    const unknown = Object.keys(value).filter((key) => !Object.hasOwn(members, key))
    return [
      ...unknown.map((key) => `${at(key)} is not known here`),
      ...Object.entries(members).flatMap(([key, check]) => {
        if (Object.hasOwn(value, key)) return check(at(key), value[key])
        return optional.includes(key) ? [] : [`${at(key)} is missing`]
      }),
    ]
  }
}

/** By the type itself, so that a setting that is added there cannot be forgotten here. */
const containerSettings: Readonly<Record<keyof ContainerSettings, Check>> = {
  accepts: listOf(oneOf(submissionTypes)),
  moderation: flag,
  hourlyLimit: count,
}

const dates = { createdAt: moment, updatedAt: moment }
const container = membersOnly({
  type: text,
  id,
  name,
  schema: storableObject,
  settings: membersOnly(containerSettings, Object.keys(containerSettings)),
  version,
  ...dates,
})

const pixels = must(
  `be a whole number from 1 to ${mostPixels}`,
  (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= mostPixels,
)
const libraryFile = membersOnly({
  id,
  key: text,
  sha256,
  bytes: count,
  contentType: textThatMust('be a content type such as image/png', (value) =>
    /^[\w.+-]{1,60}\/[\w.+-]{1,100}$/.test(value),
  ),
  width: orNull(pixels),
  height: orNull(pixels),
  color: orNull(textThatMust('be a color such as #aa4400', (value) => /^#[0-9a-f]{6}$/.test(value))),
  placeholder: orNull(
    textThatMust(
      'be a small picture as a data address',
      (value) => value.length <= maxPlaceholderLength && /^data:image\/[a-z]+;base64,[\w+/=]+$/.test(value),
    ),
  ),
  derivatives: listOf(
    membersOnly({ width: pixels, format: oneOf(['webp', 'avif']), key: text, bytes: count }),
    mostDerivatives,
  ),
  problem: orNull(word),
  createdAt: moment,
})

const amount = textThatMust('be an amount such as 12.50', (value) => /^-?\d{1,20}(\.\d{1,20})?$/.test(value))
const textOrNull = orNull(anyText)
const shipping = membersOnly({
  name: textOrNull,
  address: membersOnly({
    line1: textOrNull,
    line2: textOrNull,
    city: textOrNull,
    state: textOrNull,
    postalCode: textOrNull,
    country: textOrNull,
  }),
})
const order = membersOnly({
  type: text,
  id,
  integrationType: indexedText,
  accountHandle: indexedText,
  sessionId: indexedText,
  status: oneOf(orderStatuses),
  live: flag,
  mode: oneOf(['payment', 'subscription']),
  currency: anyText,
  subtotal: amount,
  total: amount,
  email: textOrNull,
  name: textOrNull,
  phone: textOrNull,
  shipping: orNull(shipping),
  lines: listOf(
    membersOnly({ description: anyText, priceId: textOrNull, productId: textOrNull, quantity: count, amount }),
  ),
  paymentId: textOrNull,
  siteId: textOrNull,
  ...dates,
})

const forms: Readonly<Record<LineType, Check>> = {
  'sluice-export': membersOnly({
    type: text,
    format: must(`be one of ${knownFormats.join(', ')}`, (value) => knownFormats.includes(value as number)),
    groupId: id,
    name,
    tier: textThatMust(`be one of ${tiers.join(', ')}`, isTier),
    versionsKept: must(
      `be a whole number from 0 to ${mostVersionsKept}`,
      (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= mostVersionsKept,
    ),
    exportedAt: moment,
  }),
  site: membersOnly({
    type: text,
    id,
    name: text,
    domainName: text,
    settings: storableObject,
    privateSettings: storableObject,
    version,
    ...dates,
  }),
  collection: container,
  integration: container,
  object: membersOnly({
    type: text,
    id,
    objectValue: storableObject,
    publishDate: orNull(moment),
    archived: flag,
    ...dates,
    externalId: orNull(indexedText),
    accountHandle: indexedText,
    version,
    changedBy: word,
    change: word,
    review: orNull(oneOf(reviewStates)),
  }),
  version: membersOnly({
    type: text,
    version,
    objectValue: storableObject,
    publishDate: orNull(moment),
    archived: flag,
    changedAt: moment,
    changedBy: word,
    change: word,
  }),
  libraryItem: membersOnly({
    type: text,
    id,
    key: text,
    name,
    mediaType: oneOf(mediaTypes),
    version,
    ...dates,
    file: libraryFile,
  }),
  order,
  media: membersOnly({ type: text, key: text, bytes: count, sha256 }),
  end: membersOnly(
    {
      type: text,
      lines: count,
      sites: count,
      collections: count,
      integrations: count,
      objects: count,
      versions: count,
      libraryItems: count,
      orders: count,
      media: count,
      sha256,
    },
    ['libraryItems', 'orders'],
  ),
}

/** A line that has the form of its type, or what is wrong with it. */
export function readForm(value: unknown): { line: ExportLine } | { problems: string[] } {
  const type = isRecord(value) ? value.type : undefined
  if (typeof type !== 'string' || !Object.hasOwn(forms, type))
    return { problems: [`is not a line of an export: its type must be one of ${Object.keys(forms).join(', ')}`] }
  const problems = forms[type as LineType]('', value)
  return problems.length > 0 ? { problems } : { line: value as unknown as ExportLine }
}
