import type { Container, ContainerSettings, ReviewState, StoredSite } from '../content/model.ts'
import type { Field, MediaType } from '../content/schema.ts'
import type { Derivative } from '../store/media-files.ts'
import type { Order } from '../store/orders.ts'

/**
 * A group as a folder: `group.ndjson` with one JSON object on each line, and its files below `media/`. The lines stand in
 * this order: the head; sites; containers, each followed by its objects in the order of their ids, each object followed by
 * its former versions; the items of the media library; orders in the order of their ids; files; the end. Ids are kept,
 * because answers and media keys contain them. Nothing secret is in it, nor anything of the accounts at payment providers:
 * products and orders name theirs by its handle.
 */
export const exportFormat = 3
/** What versions before 0.3 wrote: there was no library, and content pointed to files themselves. */
export const formatWithoutLibrary = 1
/** All that can be read. What version 0.3 wrote has the format 2: nothing was sold yet. */
export const knownFormats: readonly number[] = [formatWithoutLibrary, 2, exportFormat]
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

/** What content points to by its key, with all that is known of the file behind it. Several may have the same file. */
export interface LibraryItemLine {
  type: 'libraryItem'
  id: string
  key: string
  name: string
  mediaType: MediaType
  version: number
  createdAt: string
  updatedAt: string
  file: {
    id: string
    key: string
    sha256: string
    bytes: number
    contentType: string
    width: number | null
    height: number | null
    color: string | null
    placeholder: string | null
    derivatives: Derivative[]
    problem: string | null
    createdAt: string
  }
}

/** What was bought. The account may be one that is not connected here. */
export interface OrderLine extends Omit<Order, 'type' | 'createdMs' | 'updatedMs'> {
  type: 'order'
  /** The provider, as in an integration's name. */
  integrationType: string
  createdAt: string
  updatedAt: string
}

/** A file as it lies below `media/`. */
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
  libraryItems: number
  orders: number
  media: number
}

/** Not in formats that knew nothing of them. */
type LaterCounts = 'libraryItems' | 'orders'

export interface EndLine extends Omit<Counts, LaterCounts>, Partial<Pick<Counts, LaterCounts>> {
  type: 'end'
  /** Of the whole file, this line included. */
  lines: number
  /** Of all bytes before this line. */
  sha256: string
}

export type ExportLine =
  | HeadLine
  | SiteLine
  | ContainerLine
  | ObjectLine
  | VersionLine
  | LibraryItemLine
  | OrderLine
  | MediaLine
  | EndLine
export type LineType = ExportLine['type']

export const noCounts = (): Counts => ({
  sites: 0,
  collections: 0,
  integrations: 0,
  objects: 0,
  versions: 0,
  libraryItems: 0,
  orders: 0,
  media: 0,
})

const countNames: Partial<Record<LineType, keyof Counts>> = {
  site: 'sites',
  collection: 'collections',
  integration: 'integrations',
  object: 'objects',
  version: 'versions',
  libraryItem: 'libraryItems',
  order: 'orders',
  media: 'media',
}

export function countLine(counts: Counts, type: LineType): void {
  const name = countNames[type]
  if (name !== undefined) counts[name] += 1
}
