import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { ContainerSettings } from '../content/model.ts'
import type { Field } from '../content/schema.ts'
import type { SeedProduct } from '../payments/sandbox/catalogue.ts'
import type { NewSite } from '../store/content/sites.ts'

/**
 * The bakery is data: YAML and pictures. The tag `!picture` inserts a picture, `!collection` the id of a collection, and
 * `!object` that of an object created before, such as `Team/Mara Lindqvist`.
 */
const folder = join(import.meta.dirname, '../../demo')

/** A picture as content refers to it. */
export interface DemoMedia {
  name: string
  key: string
  type: 'image'
  alt?: string
}

/** Keys begin with the group's id, so the seeding code creates them. */
export type MediaOf = (name: string) => DemoMedia

export interface DemoObject {
  value: Record<string, unknown>
  /** The publish date, relative to the time of seeding. */
  daysFromNow?: number
  archived?: boolean
}

interface DemoCollection {
  schema: Record<string, Field>
  settings?: ContainerSettings
}

interface DemoProducts {
  offers: SeedProduct[]
  /** Product → picture, or a map of one per variant. */
  pictures: Record<string, unknown>
}

interface References {
  mediaOf?: MediaOf | undefined
  collectionIds?: Readonly<Record<string, string>>
  objectIds?: ReadonlyMap<string, string>
}

function read<Data>(name: string, { mediaOf, collectionIds = {}, objectIds }: References = {}): Data {
  const picture = (of: string) => mediaOf && { ...mediaOf(of), alt: altTexts[of] }
  return parse(readFileSync(join(folder, `${name}.yaml`), 'utf8'), {
    customTags: [
      { tag: '!picture', resolve: picture },
      { tag: '!collection', resolve: (of: string) => collectionIds[of] },
      { tag: '!object', resolve: (of: string) => objectIds?.get(of) },
    ],
  })
}

const altTexts = read<Record<string, string>>('pictures')
export const pictureNames = Object.keys(altTexts)
export const readPicture = (name: string): Buffer => readFileSync(join(folder, 'pictures', `${name}.png`))

/** In the order in which to create them. */
export const demoCollections = read<Record<string, DemoCollection>>('collections')
export const demoObjects = (
  collection: string,
  mediaOf: MediaOf,
  objectIds: ReadonlyMap<string, string>,
): DemoObject[] => read(collection.toLowerCase(), { mediaOf, objectIds })

export const demoSite = (collectionIds: Readonly<Record<string, string>>, mediaOf: MediaOf): NewSite =>
  read('site', { collectionIds, mediaOf })

export const demoProducts = (mediaOf?: MediaOf): DemoProducts => read('products', { mediaOf })
