import type { StoredSite } from '../../content/model.ts'
import type { Order } from '../../store/commerce/orders.ts'
import type { MediaItem } from '../../store/media/items.ts'
import type { ExportedObject } from '../../store/transfer/export.ts'
import type { ImportedContainer, ImportedVersion } from '../../store/transfer/import.ts'
import type { ExportedCopy } from '../../store/transfer/working-copies.ts'
import type { MediaLine } from '../export-format.ts'

/** A batch of an import that fits in memory. */
export type ImportStep =
  | { kind: 'site'; location: string; site: StoredSite; workingCopy: ExportedCopy | undefined }
  | { kind: 'container'; location: string; container: ImportedContainer }
  | ObjectsStep
  /** All objects of the container were read. */
  | { kind: 'containerEnd'; location: string; container: ImportedContainer }
  | LibraryStep
  | OrdersStep
  | { kind: 'media'; location: string; media: MediaLine }

export interface ObjectsStep {
  kind: 'objects'
  container: ImportedContainer
  objects: (ExportedObject & { location: string })[]
  /** Of these objects, or of the last one of the previous step. */
  versions: ImportedVersion[]
}

export interface LibraryStep {
  kind: 'library'
  items: { media: MediaItem; location: string }[]
}

export interface OrdersStep {
  kind: 'orders'
  orders: (Order & { location: string })[]
}
