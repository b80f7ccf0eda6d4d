import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { groupRoles } from '../roles.ts'
import type { AdminToken } from '../store/admin-tokens.ts'
import type { ApiKey } from '../store/api-keys.ts'
import type { Group } from '../store/groups.ts'
import type { Invitation } from '../store/invitations.ts'
import type { Member, User } from '../store/users.ts'
import { tiers } from '../tiers.ts'
import { Type } from '../type.ts'
import { isoOrNull, moment, orNull, ownId, shownOnce } from './shapes.ts'

/** What the verbs answer of groups and of who may do what in them: each shape documents, and the function beside it makes one. */

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

const bytes = (description: string) => Type.Integer({ description })

export const groupWithUsageShape = Type.Object({
  ...groupShape.properties,
  usage: Type.Object({
    databaseBytes: bytes('Objects with their versions and index, submissions, e-mails, the record of changes.'),
    databaseQuotaBytes: orNull(bytes('How many there may be; null: no limit.')),
    mediaBytes: bytes('Files, and the smaller pictures that were made of them.'),
    mediaQuotaBytes: orNull(bytes('How many there may be; null: no limit.')),
  }),
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
  service: Type.Boolean({ description: 'Whether it is a service account, a program that only this group has.' }),
  disabledAt: orNull(moment),
  since: moment,
})

export const showMember = ({ user, role, sinceMs }: Member): Static<typeof memberShape> => ({
  userId: user.id,
  name: user.name,
  email: user.email,
  role,
  service: user.serviceOf !== null,
  disabledAt: isoOrNull(user.disabledMs),
  since: toIso(sinceMs),
})

export const invitationShape = Type.Object({
  _id: ownId,
  email: Type.String(),
  name: Type.String(),
  role: Type.Enum([...groupRoles]),
  createdAt: moment,
  expiresAt: moment,
})

export const showInvitation = (invitation: Invitation): Static<typeof invitationShape> => ({
  _id: invitation.id,
  email: invitation.email,
  name: invitation.name,
  role: invitation.role,
  createdAt: toIso(invitation.createdMs),
  expiresAt: toIso(invitation.expiresMs),
})

export const newInvitationShape = Type.Object({
  token: Type.String({ description: 'The secret of the invitation, for the invited person. It is shown only now.' }),
  ...invitationShape.properties,
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
