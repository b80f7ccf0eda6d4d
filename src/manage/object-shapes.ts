import type { Static } from 'typebox'
import {
  type Container,
  objectStatuses,
  reviewStates,
  type StoredObject,
  statusOf,
  unsetPublishMs,
} from '../content/model.ts'
import { toIso } from '../content/moments.ts'
import { Type } from '../core/type.ts'
import { isoOrNull, moment, openObject, orNull, ownId } from './shapes.ts'
import { ofWorkingCopy } from './working-copy-states.ts'

const stateProperties = {
  objectValue: openObject('The fields of the schema as they were written, private ones too; media is not signed here.'),
  publishDate: orNull(moment),
  archived: Type.Boolean(),
  archiveDate: orNull(moment),
  status: Type.Enum([...objectStatuses]),
  version: Type.Integer({ description: 'Send it back with an update: an update of an older version is refused.' }),
  createdAt: moment,
  updatedAt: moment,
}

export const publishDateOf = (publishMs: number): string | null =>
  publishMs === unsetPublishMs ? null : toIso(publishMs)

const showState = (object: StoredObject, nowMs: number) => ({
  objectValue: object.value,
  publishDate: publishDateOf(object.publishMs),
  archived: object.archived,
  archiveDate: isoOrNull(object.archiveMs),
  status: statusOf(object, nowMs),
  version: object.version,
  createdAt: toIso(object.createdMs),
  updatedAt: toIso(object.updatedMs),
})

export const objectShape = Type.Object({
  _id: ownId,
  collectionId: ownId,
  review: orNull(Type.Enum([...reviewStates])),
  externalId: Type.Optional(Type.String({ description: 'Of an object of an integration type: its id at the source.' })),
  accountHandle: Type.Optional(Type.String()),
  ...stateProperties,
})

export const storedObjectShape = Type.Object({ ...objectShape.properties, ...ofWorkingCopy })

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

export const storedProductShape = Type.Object({ ...productShape.properties, ...ofWorkingCopy })

export const showProduct = ({ name }: Container, object: StoredObject, nowMs: number): Static<typeof productShape> => ({
  _id: object.id,
  id: object.externalId ?? object.id,
  type: name,
  accountHandle: object.accountHandle,
  ...showState(object, nowMs),
})
