import {
  type Container,
  type ContainerSettings,
  type ReviewState,
  type StoredSite,
  unsetPublishMs,
} from '../content/model.ts'
import { toIso } from '../content/moments.ts'
import type { Field } from '../content/schema.ts'
import type { ListedContainer } from '../store/containers.ts'
import type { WholeObject } from '../store/export-rows.ts'
import type { Group } from '../store/groups.ts'
import type { ObjectVersion } from '../store/versions.ts'

/**
 * A group as a folder: `group.ndjson` with one JSON object on each line, and its files below `media/`. The lines stand in
 * this order: the head; sites; containers, each followed by its objects in the order of their ids, each object followed by
 * its former versions; files; the end. Ids are kept, because answers and media keys contain them. Nothing secret is in it.
 */
export const exportFormat = 1
export const linesFile = 'group.ndjson'
export const mediaFolder = 'media'

export interface HeadLine {
  type: 'sluice-export'
  format: number
  groupId: string
  name: string
  tier: string
  versionsKept: number
  exportedAt: string
}

export interface SiteLine {
  type: 'site'
  id: string
  name: string
  domainName: string
  settings: StoredSite['settings']
  privateSettings: StoredSite['privateSettings']
  version: number
  createdAt: string
  updatedAt: string
}

export interface ContainerLine {
  type: Container['kind']
  id: string
  name: string
  schema: Record<string, Field>
  settings: ContainerSettings
  version: number
  createdAt: string
  updatedAt: string
}

export interface ObjectLine {
  type: 'object'
  id: string
  objectValue: Record<string, unknown>
  publishDate: string | null
  archived: boolean
  createdAt: string
  updatedAt: string
  externalId: string | null
  accountHandle: string
  version: number
  changedBy: string
  change: string
  review: ReviewState | null
}

export interface VersionLine {
  type: 'version'
  version: number
  objectValue: Record<string, unknown>
  publishDate: string | null
  archived: boolean
  changedAt: string
  changedBy: string
  change: string
}

export interface MediaLine {
  type: 'media'
  key: string
  bytes: number
  sha256: string
}

/** How many of each kind there are, which also shows that nothing is missing. */
export interface Counts {
  sites: number
  collections: number
  integrations: number
  objects: number
  versions: number
  media: number
}

export interface EndLine extends Counts {
  type: 'end'
  /** Of the whole file, this line included. */
  lines: number
  /** Of all bytes before this line. */
  sha256: string
}

export type ExportLine = HeadLine | SiteLine | ContainerLine | ObjectLine | VersionLine | MediaLine | EndLine
export type LineType = ExportLine['type']

export const noCounts = (): Counts => ({
  sites: 0,
  collections: 0,
  integrations: 0,
  objects: 0,
  versions: 0,
  media: 0,
})

const countNames: Partial<Record<LineType, keyof Counts>> = {
  site: 'sites',
  collection: 'collections',
  integration: 'integrations',
  object: 'objects',
  version: 'versions',
  media: 'media',
}

export function countLine(counts: Counts, type: LineType): void {
  const name = countNames[type]
  if (name !== undefined) counts[name] += 1
}

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
