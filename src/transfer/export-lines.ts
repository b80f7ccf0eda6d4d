import { type StoredSite, unsetPublishMs } from '../content/model.ts'
import { toIso } from '../content/moments.ts'
import type { ListedContainer } from '../store/containers.ts'
import type { WholeObject } from '../store/export-rows.ts'
import type { Group } from '../store/groups.ts'
import type { MediaItem } from '../store/media.ts'
import type { Order } from '../store/orders.ts'
import type { ObjectVersion } from '../store/versions.ts'
import {
  type ContainerLine,
  exportFormat,
  type HeadLine,
  type LibraryItemLine,
  type ObjectLine,
  type OrderLine,
  type SiteLine,
  type VersionLine,
} from './export-format.ts'

/** What is stored, as the lines that stand for it. `line-models.ts` is the way back. */

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

export const siteLine = (site: StoredSite): SiteLine => ({
  type: 'site',
  id: site.id,
  name: site.name,
  domainName: site.domainName,
  settings: site.settings,
  privateSettings: site.privateSettings,
  version: site.version,
  createdAt: toIso(site.createdMs),
  updatedAt: toIso(site.updatedMs),
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

export const objectLine = (object: WholeObject): ObjectLine => ({
  type: 'object',
  id: object.id,
  objectValue: object.value,
  publishDate: publishDateOf(object.publishMs),
  archived: object.archived,
  createdAt: toIso(object.createdMs),
  updatedAt: toIso(object.updatedMs),
  externalId: object.externalId,
  accountHandle: object.accountHandle,
  version: object.version,
  changedBy: object.changedBy,
  change: object.change,
  review: object.review,
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
