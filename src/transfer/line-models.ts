import { type StoredSite, unsetPublishMs } from '../content/model.ts'
import { parseDateTime } from '../content/moments.ts'
import { parseSchema } from '../content/schema.ts'
import type { WholeObject } from '../store/export-rows.ts'
import type { ImportedContainer, ImportedVersion } from '../store/import-rows.ts'
import type { MediaItem } from '../store/media.ts'
import type { Derivative } from '../store/media-files.ts'
import type { Order } from '../store/orders.ts'
import type { ContainerLine, LibraryItemLine, ObjectLine, OrderLine, SiteLine, VersionLine } from './export-format.ts'

/** Lines that were checked, as the content that they stand for. */

const toMs = (text: string): number => parseDateTime(text) as number // checked before
const toPublishMs = (text: string | null): number => (text === null ? unsetPublishMs : toMs(text))
const datesOf = ({ createdAt, updatedAt }: { createdAt: string; updatedAt: string }) => ({
  createdMs: toMs(createdAt),
  updatedMs: toMs(updatedAt),
})

export const siteOf = (line: SiteLine): StoredSite => ({
  id: line.id,
  name: line.name,
  domainName: line.domainName,
  settings: line.settings,
  privateSettings: line.privateSettings,
  version: line.version,
  ...datesOf(line),
})

export const containerOf = (line: ContainerLine): ImportedContainer => ({
  id: line.id,
  kind: line.type,
  name: line.name,
  schema: parseSchema(line.schema),
  settings: line.settings,
  version: line.version,
  ...datesOf(line),
})

export const objectOf = (line: ObjectLine): WholeObject => ({
  id: line.id,
  value: line.objectValue,
  publishMs: toPublishMs(line.publishDate),
  archived: line.archived,
  ...datesOf(line),
  externalId: line.externalId,
  accountHandle: line.accountHandle,
  version: line.version,
  changedBy: line.changedBy,
  change: line.change,
  review: line.review,
})

export const versionOf = (objectId: string, line: VersionLine): ImportedVersion => ({
  objectId,
  version: line.version,
  value: line.objectValue,
  publishMs: toPublishMs(line.publishDate),
  archived: line.archived,
  changedMs: toMs(line.changedAt),
  changedBy: line.changedBy,
  change: line.change,
})

const derivativeOf = ({ width, format, key, bytes }: Derivative): Derivative => ({ width, format, key, bytes })

export const mediaOf = (line: LibraryItemLine): MediaItem => {
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

export const orderOf = ({ type: _, integrationType, createdAt, updatedAt, ...order }: OrderLine): Order => ({
  ...order,
  type: integrationType,
  ...datesOf({ createdAt, updatedAt }),
})
