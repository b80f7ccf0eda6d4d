import type { Static } from 'typebox'
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
import type { PreviewToken } from '../store/preview-tokens.ts'
import type { ObjectVersion } from '../store/versions.ts'
import { Type } from '../type.ts'
import { isoOrNull, moment, orNull, ownId, shownOnce } from './shapes.ts'

/** What the verbs answer of content: each shape documents, and the function beside it makes one. */

const openObject = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description })

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
  externalId: Type.Optional(Type.String({ description: 'Of an object of an integration type: its id elsewhere.' })),
  accountHandle: Type.Optional(Type.String()),
  ...stateProperties,
})

export const showObject = (containerId: string, object: StoredObject, nowMs: number): Static<typeof objectShape> => ({
  _id: object.id,
  collectionId: containerId,
  review: object.review,
  ...(object.externalId !== null && { externalId: object.externalId }),
  ...(object.accountHandle !== '' && { accountHandle: object.accountHandle }),
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
