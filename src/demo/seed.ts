import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { mediaUsesIn } from '../content/media-uses.ts'
import { type Container, isVisible, type StoredObject } from '../content/model.ts'
import { parseSchema } from '../content/parse-schema.ts'
import { type Clock, dayMs } from '../core/clock.ts'
import { addMedia } from '../media/library.ts'
import type { Media } from '../media/media.ts'
import { listIntegrations } from '../store/commerce/integrations.ts'
import { type Authoring, type ContentWriter, writeContent } from '../store/content/changes.ts'
import { findCollection, findIntegration, insertContainer, updateContainer } from '../store/content/containers.ts'
import { insertObjects, iterateObjects } from '../store/content/objects.ts'
import { createPreviewToken, previewLifeSeconds } from '../store/content/preview-tokens.ts'
import { scheduleWorkingCopy } from '../store/content/publish-working-copies.ts'
import { insertSite } from '../store/content/sites.ts'
import { saveWorkingCopy } from '../store/content/working-copies.ts'
import { createAdminToken } from '../store/control/admin-tokens.ts'
import { createApiKey } from '../store/control/api-keys.ts'
import {
  createGroup,
  defaultDatabase,
  type Group,
  listGroups,
  openContentOf,
  versionsKeptByDefault,
} from '../store/control/groups.ts'
import { createUser } from '../store/control/users.ts'
import type { GroupStore, Store } from '../store/store.ts'
import {
  type DemoObject,
  demoCollections,
  demoObjects,
  demoProducts,
  demoSite,
  type MediaOf,
  pictureNames,
  readPicture,
} from './content.ts'
import { openShop, type ShopDeps } from './shop.ts'

const demoGroupName = 'Demo Bakery'

/** Everything needed to try the demo; also the content of `demo.json`. */
export interface Demo {
  baseUrl: string
  groupId: string
  apiKey: string
  /** Of an administrator, who may do everything in every group. */
  adminToken: string
  siteId: string
  collections: Record<string, string>
  previewToken: string
  priceIds: string[]
}

export interface SeedDeps extends ShopDeps {
  clock: Clock
}

/** Uploads the pictures, and returns how content refers to each of them. */
async function storePictures(media: Media, group: Group, content: GroupStore, authoring: Authoring): Promise<MediaOf> {
  const library = { group: content, bucketName: group.bucketName, storage: media.storage, authoring }
  const keys = new Map<string, string>()
  for (const name of pictureNames) {
    const upload = { name: `${name}.png`, content: Readable.from([readPicture(name)]) }
    const stored = await media.inbox.receive(upload, media.maxBytes[group.tier], (received) =>
      addMedia(library, received, upload.name),
    )
    keys.set(name, stored.key)
  }
  return (name) => ({ name, key: keys.get(name) ?? '', type: 'image' })
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

/** The ids of the products, by the names that the demo's files use. */
async function findProductIds(group: GroupStore): Promise<Map<string, string>> {
  const shop = await findIntegration(group, 'stripe')
  const products = shop ? await Array.fromAsync(iterateObjects(group, shop.id)) : []
  return new Map(products.map(({ id, externalId }) => [`stripe/${externalId}`, id]))
}

/** Far enough away that the demo stays as it is described. */
const daysToChange = 365

/** A working copy that an editor has scheduled. */
async function scheduleChange(
  writer: ContentWriter,
  container: Container,
  objects: readonly StoredObject[],
): Promise<void> {
  const { id, schema } = container
  const post = objects.find((object) => isVisible(object, writer.nowMs))
  if (!post) return
  const value = { ...post.value, title: `${post.value.title}: a year later` }
  const uses = mediaUsesIn(schema, value)
  const copy = await saveWorkingCopy(writer, { ...post, containerId: id }, undefined, value, uses)
  await scheduleWorkingCopy(writer, container, post, copy, { dueMs: writer.nowMs + daysToChange * dayMs })
}

async function seedCollections(writer: ContentWriter, media: MediaOf) {
  const collections: Record<string, string> = {}
  const objectIds = await findProductIds(writer.group)
  let draftId = ''
  for (const [name, { schema, settings = {} }] of Object.entries(demoCollections)) {
    const collection = await insertContainer(writer, {
      kind: 'collection',
      name,
      schema: parseSchema(schema),
      settings,
    })
    const objects = demoObjects(name, media, objectIds).map(toNewObject(writer.nowMs))
    const stored = await insertObjects(writer, collection, objects)
    for (const { id, value } of stored) objectIds.set(`${name}/${value.name}`, id)
    if (name === 'Blog') await scheduleChange(writer, collection, stored)
    draftId ||= stored.find((object) => object.publishMs > writer.nowMs)?.id ?? ''
    collections[name] = collection.id
  }
  return { collections, draftId }
}

const authoringAt = (nowMs: number): Authoring => ({
  author: { id: null, name: 'demo', address: '' },
  verb: 'seed',
  nowMs,
  versionsKept: versionsKeptByDefault,
})

async function createAdministrator(store: Store, nowMs: number): Promise<string> {
  const authoring = authoringAt(nowMs)
  const administrator = await createUser(store, { name: 'Demo administrator', administrator: true }, authoring)
  return (await createAdminToken(store, administrator, { label: 'demo' }, authoring)).token
}

/** Creates a group with site, content, products, pictures, an API key, an admin token and a preview of a draft. */
export async function seedDemo(deps: SeedDeps): Promise<Omit<Demo, 'baseUrl'>> {
  const { store, media, clock } = deps
  const nowMs = clock()
  const authoring = authoringAt(nowMs)
  const group = await createGroup(store, { name: demoGroupName, tier: 'pro' }, authoring)
  const groupStore = await openContentOf(store, group)
  const pictures = await storePictures(media, group, groupStore, authoring)
  await openShop(deps, groupStore, authoring, pictures)
  const content = await writeContent(groupStore, authoring, async (writer) => {
    const { collections, draftId } = await seedCollections(writer, pictures)
    const site = await insertSite(writer, demoSite(collections, pictures))
    const { token } = await createPreviewToken(writer, { objectId: draftId, lifeSeconds: previewLifeSeconds.most })
    return { siteId: site.id, collections, previewToken: token }
  })
  const { key } = await createApiKey(store, group.id, 'demo', authoring)
  const priceIds = demoProducts().offers.flatMap(({ prices }) => prices.map(({ id }) => id))
  return { groupId: group.id, apiKey: key, adminToken: await createAdministrator(store, nowMs), ...content, priceIds }
}

/** Upgrades a demo of version 0.4, which accepts no submissions. Edited collections stay as they are. */
async function openToVisitors(group: GroupStore, { collections }: Demo, authoring: Authoring): Promise<void> {
  await writeContent(group, authoring, async (writer) => {
    for (const [name, { settings }] of Object.entries(demoCollections)) {
      if (!settings) continue
      const collection = await findCollection(writer.group, collections[name] ?? '')
      if (collection?.version === 1) await updateContainer(writer, collection, { settings })
    }
  })
}

const demoFile = (dataDir: string): string => join(dataDir, 'demo.json')

/** Readable by its owner only, because it contains a key. */
export async function writeDemoFile(dataDir: string, demo: Demo): Promise<Demo> {
  await writeFile(demoFile(dataDir), `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 })
  return demo
}

/**
 * The demo of this data folder: found by its file, or created if there are no groups except demos whose seeding was
 * interrupted. Undefined otherwise: a service with other groups needs no demo.
 */
export async function findOrSeedDemo(
  deps: SeedDeps,
  dataDir: string,
  onSeed: () => void,
): Promise<Omit<Demo, 'baseUrl'> | undefined> {
  const groups = await listGroups(deps.store)
  const file = demoFile(dataDir)
  const demo: Demo | undefined = existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : undefined
  if (demo && groups.some(({ id }) => id === demo.groupId)) {
    const group = await openContentOf(deps.store, { id: demo.groupId, database: defaultDatabase })
    // A demo of version 0.3 has products but no payment account; one of version 0.1 has no administrator.
    if ((await listIntegrations(group)).length === 0) await openShop(deps, group, authoringAt(deps.clock()))
    await openToVisitors(group, demo, authoringAt(deps.clock()))
    return { ...demo, adminToken: demo.adminToken ?? (await createAdministrator(deps.store, deps.clock())) }
  }
  if (!groups.every(({ name }) => name === demoGroupName)) return undefined
  onSeed()
  return seedDemo(deps)
}
