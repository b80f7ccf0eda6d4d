import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { MediaStorage } from '../media/storage.ts'
import { createApiKey } from '../store/api-keys.ts'
import { createContainer } from '../store/containers.ts'
import { createGroup, type Group, type GroupStore, listGroups, openGroup } from '../store/groups.ts'
import { createObjects } from '../store/objects.ts'
import type { Store } from '../store/open.ts'
import { createPreviewToken, previewLifeSeconds } from '../store/preview-tokens.ts'
import { createSite } from '../store/sites.ts'
import { demoObjects, demoProducts, demoSchemas, demoSite } from './content.ts'
import { drawPicture, type PictureName, pictureNames } from './pictures.ts'
import type { CollectionName } from './schemas.ts'
import type { DemoObject, MediaOf } from './types.ts'

const demoGroupName = 'Demo Bakery'
const dayMs = 24 * 3600 * 1000

/** What is needed to try the demo; also the content of `demo.json`. */
export interface Demo {
  baseUrl: string
  groupId: string
  apiKey: string
  /** The management API brings the first one. */
  adminToken: null
  siteId: string
  collections: Record<string, string>
  previewToken: string
  priceIds: string[]
}

export interface SeedDeps {
  store: Store
  storage: MediaStorage
  clock: Clock
}

function mediaOf({ id }: Group): MediaOf {
  return (name) => ({ name, key: `${id}/demo/${name}.png`, type: 'image' })
}

async function storePictures(storage: MediaStorage, group: Group): Promise<void> {
  for (const name of pictureNames)
    await storage.write(group.bucketName, mediaOf(group)(name).key, drawPicture(name as PictureName))
}

const toNewObject =
  (nowMs: number) =>
  <Item extends DemoObject>({ daysFromNow, ...item }: Item) => ({
    ...item,
    ...(daysFromNow !== undefined && {
      publishMs: nowMs + daysFromNow * dayMs,
      createdMs: nowMs + Math.min(daysFromNow, 0) * dayMs,
    }),
  })

async function seedCollections(groupStore: GroupStore, media: MediaOf, nowMs: number) {
  const collections: Record<string, string> = {}
  let draftId = ''
  for (const [name, objectsOf] of Object.entries(demoObjects)) {
    const schema = demoSchemas[name as CollectionName]
    const collection = await createContainer(groupStore, { kind: 'collection', name, schema }, nowMs)
    const stored = await createObjects(groupStore, collection, objectsOf(media).map(toNewObject(nowMs)), nowMs)
    draftId ||= stored.find((object) => object.publishMs > nowMs)?.id ?? ''
    collections[name] = collection.id
  }
  return { collections, draftId }
}

const textsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : Object.values(value as Record<string, string>)

async function seedProducts(groupStore: GroupStore, media: MediaOf, nowMs: number): Promise<string[]> {
  const integration = await createContainer(
    groupStore,
    { kind: 'integration', name: 'stripe', schema: demoSchemas.stripe },
    nowMs,
  )
  const products = demoProducts(media)
  await createObjects(groupStore, integration, products.map(toNewObject(nowMs)), nowMs)
  return products.flatMap(({ value }) => textsIn(value.default_price))
}

/** Makes a group with a whole bakery in it: site, content, products, pictures, a key and a preview of a draft. */
export async function seedDemo({ store, storage, clock }: SeedDeps): Promise<Omit<Demo, 'baseUrl'>> {
  const nowMs = clock()
  const group = await createGroup(store, { name: demoGroupName, tier: 'pro' }, nowMs)
  const groupStore = await openGroup(store, { database: group.database, groupID: group.id })
  const media = mediaOf(group)
  await storePictures(storage, group)
  const { collections, draftId } = await seedCollections(groupStore, media, nowMs)
  const priceIds = await seedProducts(groupStore, media, nowMs)
  const site = await createSite(groupStore, demoSite(collections as Record<CollectionName, string>, media), nowMs)
  const { token } = await createPreviewToken(
    groupStore,
    { objectId: draftId, lifeSeconds: previewLifeSeconds.most },
    nowMs,
  )
  const { key } = await createApiKey(store, group.id, 'demo', nowMs)
  return {
    groupId: group.id,
    apiKey: key,
    adminToken: null,
    siteId: site.id,
    collections,
    previewToken: token,
    priceIds,
  }
}

const demoFile = (dataDir: string): string => join(dataDir, 'demo.json')

/** Keeps what is needed to try the demo; for its owner only, because a key is in it. */
export async function writeDemoFile(dataDir: string, demo: Demo): Promise<Demo> {
  await writeFile(demoFile(dataDir), `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 })
  return demo
}

/**
 * The demo of this data folder: found again by its file, made where there is nothing but demos whose making was cut
 * short, and else undefined, because a service with groups of its own wants no demo.
 */
export async function findOrSeedDemo(
  deps: SeedDeps,
  dataDir: string,
  onSeed: () => void,
): Promise<Omit<Demo, 'baseUrl'> | undefined> {
  const groups = await listGroups(deps.store)
  const file = demoFile(dataDir)
  const demo: Demo | undefined = existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : undefined
  if (demo && groups.some(({ id }) => id === demo.groupId)) return demo
  if (!groups.every(({ name }) => name === demoGroupName)) return undefined
  onSeed()
  return seedDemo(deps)
}
