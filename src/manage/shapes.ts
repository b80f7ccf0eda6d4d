import type { Static, TSchema } from 'typebox'
import {
  type Container,
  noticeRhythms,
  objectStatuses,
  reviewStates,
  type StoredObject,
  type StoredSite,
  statusOf,
  unsetPublishMs,
} from '../content/model.ts'
import { toIso } from '../content/moments.ts'
import { groupRoles } from '../roles.ts'
import type { AdminToken } from '../store/admin-tokens.ts'
import type { ApiKey } from '../store/api-keys.ts'
import type { Group } from '../store/groups.ts'
import type { PreviewToken } from '../store/preview-tokens.ts'
import type { Member, User } from '../store/users.ts'
import type { ObjectVersion } from '../store/versions.ts'
import { tiers } from '../tiers.ts'
import { Type } from '../type.ts'

/** What the verbs answer: each shape documents, and the function beside it makes one. */
const exampleId = '66f0c0ffee0123456789abcd'
export const id = (description: string) =>
  Type.String({ minLength: 1, maxLength: 100, description, examples: [exampleId] })
/** What is sent and never shown again. The command line takes it from a variable or standard input, not from its arguments. */
export const secret = (description: string, variable: string) =>
  Type.String({
    minLength: 8,
    maxLength: 500,
    pattern: '^[!-~]+$',
    writeOnly: true,
    description,
    'x-variable': variable,
  })
export const ownId = Type.String({ examples: [exampleId] })
export const moment = Type.String({ format: 'date-time', examples: ['2026-03-01T09:30:00.000Z'] })
export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms))
const openObject = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description })

export const listOf = <Item extends TSchema>(item: Item) =>
  Type.Object({ items: Type.Array(item), totalCount: Type.Integer({ minimum: 0 }) })

/** A list that is short enough to be answered as a whole. */
export const wholeList = <Item>(items: Item[]) => ({ items, totalCount: items.length })

export const groupShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  tier: Type.Enum([...tiers]),
  frozen: Type.Boolean(),
  database: Type.String(),
  bucketName: Type.String(),
  versionsKept: Type.Integer(),
  createdAt: moment,
})

export const showGroup = (group: Group): Static<typeof groupShape> => ({
  _id: group.id,
  name: group.name,
  tier: group.tier,
  frozen: group.frozen,
  database: group.database,
  bucketName: group.bucketName,
  versionsKept: group.versionsKept,
  createdAt: toIso(group.createdMs),
})

export const userShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  email: orNull(Type.String()),
  administrator: Type.Boolean(),
  disabledAt: orNull(moment),
  createdAt: moment,
})

export const showUser = (user: User): Static<typeof userShape> => ({
  _id: user.id,
  name: user.name,
  email: user.email,
  administrator: user.administrator,
  disabledAt: isoOrNull(user.disabledMs),
  createdAt: toIso(user.createdMs),
})

export const memberShape = Type.Object({
  userId: ownId,
  name: Type.String(),
  email: orNull(Type.String()),
  role: Type.Enum([...groupRoles]),
  disabledAt: orNull(moment),
  since: moment,
})

export const showMember = ({ user, role, sinceMs }: Member): Static<typeof memberShape> => ({
  userId: user.id,
  name: user.name,
  email: user.email,
  role,
  disabledAt: isoOrNull(user.disabledMs),
  since: toIso(sinceMs),
})

export const tokenShape = Type.Object({
  _id: ownId,
  userId: ownId,
  label: Type.String(),
  prefix: Type.String({ description: 'The beginning of the token, to recognise it by.' }),
  groupId: orNull(ownId),
  role: orNull(Type.Enum([...groupRoles])),
  createdAt: moment,
  expiresAt: orNull(moment),
  lastUsedAt: orNull(moment),
  revokedAt: orNull(moment),
})

export const showToken = (token: AdminToken): Static<typeof tokenShape> => ({
  _id: token.id,
  userId: token.userId,
  label: token.label,
  prefix: token.prefix,
  groupId: token.groupId,
  role: token.role,
  createdAt: toIso(token.createdMs),
  expiresAt: isoOrNull(token.expiresMs),
  lastUsedAt: isoOrNull(token.lastUsedMs),
  revokedAt: isoOrNull(token.revokedMs),
})

const shownOnce = (what: string) => Type.String({ description: `The ${what} itself. It is shown only now.` })
export const newTokenShape = Type.Object({ token: shownOnce('token'), ...tokenShape.properties })

export const keyShape = Type.Object({
  _id: ownId,
  label: Type.String(),
  prefix: Type.String({ description: 'The beginning of the key, to recognise it by.' }),
  createdAt: moment,
  lastUsedAt: orNull(moment),
  expiresAt: orNull(moment),
  revokedAt: orNull(moment),
})

export const showKey = (key: ApiKey): Static<typeof keyShape> => ({
  _id: key.id,
  label: key.label,
  prefix: key.prefix,
  createdAt: toIso(key.createdMs),
  lastUsedAt: isoOrNull(key.lastUsedMs),
  expiresAt: isoOrNull(key.expiresMs),
  revokedAt: isoOrNull(key.revokedMs),
})

export const newKeyShape = Type.Object({ key: shownOnce('key'), ...keyShape.properties })

export const siteShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  domainName: Type.String(),
  settings: openObject(
    'Colours, logo, hero image, business information, pages, social links and anything of your own.',
  ),
  allowedOrigins: Type.Array(Type.String()),
  allowedRecipients: Type.Array(Type.String()),
  shippingCountries: Type.Array(Type.String()),
  noticesTo: Type.String({ description: 'Empty where nobody is told.' }),
  noticesRhythm: Type.Enum([...noticeRhythms]),
  version: Type.Integer(),
  createdAt: moment,
  updatedAt: moment,
})

export const showSite = (site: StoredSite): Static<typeof siteShape> => ({
  _id: site.id,
  name: site.name,
  domainName: site.domainName,
  settings: site.settings,
  allowedOrigins: site.privateSettings.allowedOrigins ?? [],
  allowedRecipients: site.privateSettings.allowedRecipients ?? [],
  shippingCountries: site.privateSettings.shippingCountries ?? [],
  noticesTo: site.privateSettings.submissionNotices?.to ?? '',
  noticesRhythm: site.privateSettings.submissionNotices?.rhythm ?? 'each',
  version: site.version,
  createdAt: toIso(site.createdMs),
  updatedAt: toIso(site.updatedMs),
})

export const collectionShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  schema: openObject('Field name → field.'),
  accepts: Type.Array(Type.String()),
  moderation: Type.Boolean(),
  hourlyLimit: Type.Integer({ description: '0 where it has no limit of its own.' }),
  version: Type.Integer(),
})

export const showCollection = (container: Container): Static<typeof collectionShape> => ({
  _id: container.id,
  name: container.name,
  schema: Object.fromEntries(container.schema),
  accepts: container.settings.accepts ?? [],
  moderation: container.settings.moderation ?? false,
  hourlyLimit: container.settings.hourlyLimit ?? 0,
  version: container.version,
})

const stateProperties = {
  objectValue: openObject('The fields of the schema as they were written, private ones too; media is not signed here.'),
  publishDate: orNull(moment),
  archived: Type.Boolean(),
  status: Type.Enum([...objectStatuses]),
  version: Type.Integer({ description: 'Send it back with an update: who edits an older version is told.' }),
  createdAt: moment,
  updatedAt: moment,
}

export const publishDateOf = (publishMs: number): string | null =>
  publishMs === unsetPublishMs ? null : toIso(publishMs)

const showState = (object: StoredObject, nowMs: number) => ({
  objectValue: object.value,
  publishDate: publishDateOf(object.publishMs),
  archived: object.archived,
  status: statusOf(object, nowMs),
  version: object.version,
  createdAt: toIso(object.createdMs),
  updatedAt: toIso(object.updatedMs),
})

export const objectShape = Type.Object({
  _id: ownId,
  collectionId: ownId,
  review: orNull(Type.Enum([...reviewStates])),
  ...stateProperties,
})

export const showObject = (containerId: string, object: StoredObject, nowMs: number): Static<typeof objectShape> => ({
  _id: object.id,
  collectionId: containerId,
  review: object.review,
  ...showState(object, nowMs),
})

export const productShape = Type.Object({
  _id: ownId,
  id: Type.String({ description: 'The provider’s product id.' }),
  type: Type.String(),
  accountHandle: Type.String(),
  ...stateProperties,
})

export const showProduct = ({ name }: Container, object: StoredObject, nowMs: number): Static<typeof productShape> => ({
  _id: object.id,
  id: object.externalId ?? object.id,
  type: name,
  accountHandle: object.accountHandle,
  ...showState(object, nowMs),
})

export const versionShape = Type.Object({
  version: Type.Integer(),
  objectValue: openObject('The fields as they were.'),
  publishDate: orNull(moment),
  archived: Type.Boolean(),
  change: Type.String({ description: 'What was done.' }),
  changedBy: Type.String(),
  changedAt: moment,
})

export const showVersion = (version: ObjectVersion): Static<typeof versionShape> => ({
  version: version.version,
  objectValue: version.value,
  publishDate: publishDateOf(version.publishMs),
  archived: version.archived,
  change: version.change,
  changedBy: version.changedBy,
  changedAt: toIso(version.changedMs),
})

export const previewShape = Type.Object({
  _id: ownId,
  objectId: ownId,
  createdAt: moment,
  expiresAt: moment,
  maxUses: orNull(Type.Integer()),
  uses: Type.Integer({ description: 'Counted only where uses are limited.' }),
  revokedAt: orNull(moment),
})

export const showPreview = (token: PreviewToken): Static<typeof previewShape> => ({
  _id: token.id,
  objectId: token.objectId,
  createdAt: toIso(token.createdMs),
  expiresAt: toIso(token.expiresMs),
  maxUses: token.maxUses,
  uses: token.uses,
  revokedAt: isoOrNull(token.revokedMs),
})

export const newPreviewShape = Type.Object({ token: shownOnce('token'), ...previewShape.properties })

export const doneShape = Type.Object({ done: Type.Literal(true) })
export const done = { done: true } as const

/** A length of time in seconds; on the command line also `30m`, `24h` or `7d`. */
export const durationInput = (description: string, minimum: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum, maximum, description: `${description} In seconds.` }))
