import { type StoredSite, unsetPublishMs } from '../content/model.ts'
import { parseDateTime, toIso } from '../content/moments.ts'
import { parseSchema } from '../content/parse-schema.ts'
import type { Order } from '../store/commerce/orders.ts'
import type { ListedContainer } from '../store/content/containers.ts'
import type { ObjectVersion } from '../store/content/versions.ts'
import type { Group } from '../store/control/groups.ts'
import type { Derivative } from '../store/media/files.ts'
import type { MediaItem } from '../store/media/items.ts'
import type { ExportedObject } from '../store/transfer/export.ts'
import type { ImportedContainer, ImportedVersion } from '../store/transfer/import.ts'
import type { ExportedCopy } from '../store/transfer/working-copies.ts'
import {
  type ContainerLine,
  type CopyPart,
  exportFormat,
  type HeadLine,
  type LibraryItemLine,
  type ObjectLine,
  type OrderLine,
  type SiteLine,
  type VersionLine,
} from './export-format.ts'

/** Converts stored content to lines of an export, and checked lines back. */

const publishDateOf = (publishMs: number): string | null => (publishMs === unsetPublishMs ? null : toIso(publishMs))

export const headLine = (group: Group, nowMs: number): HeadLine => ({
  type: 'sluice-export',
  format: exportFormat,
  groupId: group.id,
  name: group.name,
  tier: group.tier,
  versionsKept: group.versionsKept,
  exportedAt: toIso(nowMs),
})

const copyPart = ({ dueMs, savedMs, value, baseValue, baseVersion, problem, savedBy }: ExportedCopy): CopyPart => ({
  value,
  baseValue,
  baseVersion,
  publishAt: dueMs === null ? null : toIso(dueMs),
  problem,
  savedAt: toIso(savedMs),
  savedBy,
})

export const copyFromPart = ({ publishAt, savedAt, ...copy }: CopyPart): ExportedCopy => ({
  ...copy,
  dueMs: publishAt === null ? null : toMs(publishAt),
  savedMs: toMs(savedAt),
})

export const siteLine = (site: StoredSite, copy: ExportedCopy | undefined): SiteLine => ({
  type: 'site',
  id: site.id,
  name: site.name,
  domainName: site.domainName,
  settings: site.settings,
  privateSettings: site.privateSettings,
  version: site.version,
  createdAt: toIso(site.createdMs),
  updatedAt: toIso(site.updatedMs),
  ...(copy && { workingCopy: copyPart(copy) }),
})

export const containerLine = (container: ListedContainer): ContainerLine => ({
  type: container.kind,
  id: container.id,
  name: container.name,
  schema: Object.fromEntries(container.schema),
  settings: container.settings,
  version: container.version,
  createdAt: toIso(container.createdMs),
  updatedAt: toIso(container.updatedMs),
})

export const objectLine = (object: ExportedObject): ObjectLine => ({
  type: 'object',
  id: object.id,
  objectValue: object.value,
  publishDate: publishDateOf(object.publishMs),
  archived: object.archived,
  ...(object.archiveMs !== null && { archiveDate: toIso(object.archiveMs) }),
  createdAt: toIso(object.createdMs),
  updatedAt: toIso(object.updatedMs),
  externalId: object.externalId,
  accountHandle: object.accountHandle,
  version: object.version,
  changedBy: object.changedBy,
  change: object.change,
  review: object.review,
  ...(object.workingCopy && { workingCopy: copyPart(object.workingCopy) }),
})

export const versionLine = (version: ObjectVersion): VersionLine => ({
  type: 'version',
  version: version.version,
  objectValue: version.value,
  publishDate: publishDateOf(version.publishMs),
  archived: version.archived,
  changedAt: toIso(version.changedMs),
  changedBy: version.changedBy,
  change: version.change,
})

export function libraryItemLine({ type, createdMs, updatedMs, file, ...item }: MediaItem): LibraryItemLine {
  const { createdMs: fileCreatedMs, ...facts } = file
  return {
    type: 'libraryItem',
    ...item,
    mediaType: type,
    createdAt: toIso(createdMs),
    updatedAt: toIso(updatedMs),
    file: { ...facts, createdAt: toIso(fileCreatedMs) },
  }
}

export const orderLine = (order: Order): OrderLine => ({
  type: 'order',
  id: order.id,
  integrationType: order.type,
  accountHandle: order.accountHandle,
  sessionId: order.sessionId,
  status: order.status,
  live: order.live,
  mode: order.mode,
  currency: order.currency,
  subtotal: order.subtotal,
  total: order.total,
  email: order.email,
  name: order.name,
  phone: order.phone,
  shipping: order.shipping,
  lines: order.lines,
  paymentId: order.paymentId,
  siteId: order.siteId,
  createdAt: toIso(order.createdMs),
  updatedAt: toIso(order.updatedMs),
})

const toMs = (text: string): number => parseDateTime(text) as number // checked before
const toPublishMs = (text: string | null): number => (text === null ? unsetPublishMs : toMs(text))
const datesOf = ({ createdAt, updatedAt }: { createdAt: string; updatedAt: string }) => ({
  createdMs: toMs(createdAt),
  updatedMs: toMs(updatedAt),
})

export const siteFromLine = ({ type: _, workingCopy: _w, createdAt, updatedAt, ...site }: SiteLine): StoredSite => ({
  ...site,
  ...datesOf({ createdAt, updatedAt }),
})

export const containerFromLine = ({ type: kind, createdAt, updatedAt, ...line }: ContainerLine): ImportedContainer => ({
  ...line,
  kind,
  schema: parseSchema(line.schema),
  ...datesOf({ createdAt, updatedAt }),
})

export function objectFromLine(line: ObjectLine): ExportedObject {
  const { type: _, objectValue: value, publishDate, archiveDate, createdAt, updatedAt, workingCopy, ...object } = line
  return {
    ...object,
    value,
    publishMs: toPublishMs(publishDate),
    archiveMs: archiveDate === undefined ? null : toMs(archiveDate),
    ...datesOf({ createdAt, updatedAt }),
    ...(workingCopy && { workingCopy: copyFromPart(workingCopy) }),
  }
}

export function versionFromLine(objectId: string, line: VersionLine): ImportedVersion {
  const { type: _, objectValue: value, publishDate, changedAt, ...version } = line
  return { ...version, objectId, value, publishMs: toPublishMs(publishDate), changedMs: toMs(changedAt) }
}

const derivativeOf = ({ width, format, key, bytes }: Derivative): Derivative => ({ width, format, key, bytes })

export const mediaFromLine = (line: LibraryItemLine): MediaItem => {
  const { createdAt, derivatives, ...file } = line.file
  return {
    id: line.id,
    key: line.key,
    name: line.name,
    type: line.mediaType,
    version: line.version,
    ...datesOf(line),
    file: { ...file, derivatives: derivatives.map(derivativeOf), createdMs: toMs(createdAt) },
  }
}

export const orderFromLine = ({ type: _, integrationType, createdAt, updatedAt, ...order }: OrderLine): Order => ({
  ...order,
  type: integrationType,
  ...datesOf({ createdAt, updatedAt }),
})
