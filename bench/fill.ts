import type { Container } from '../src/content/model.ts'
import { parseSchema } from '../src/content/parse-schema.ts'
import { makeId } from '../src/core/ids.ts'
import { insertContainer } from '../src/store/content/containers.ts'
import { insertObjects, type NewObject } from '../src/store/content/objects.ts'
import { splitRanges } from '../src/store/content/split-ranges.ts'
import { type Group, openContentOf } from '../src/store/control/groups.ts'
import { insertFile } from '../src/store/media/files.ts'
import { insertMedia } from '../src/store/media/items.ts'
import { openStore } from '../src/store/open.ts'
import type { GroupStore } from '../src/store/store.ts'
import { createApiKey, createContainer, createGroup, createSite, write } from '../test/helpers/authoring.ts'
import { makePosts, postSchema, reviewSchema, siteInput } from './content.ts'
import { makePicture } from './media-page.ts'

/** The settings under which Sluice serves a dataset. */
export interface DatasetEnv {
  DATA_DIR: string
  DATABASE_URL: string
}

export interface FilledGroup {
  groupId: string
  database: string
  apiKey: string
  /** Of the posts. */
  collectionId: string
  items: number
  /** A collection that accepts submissions. */
  reviewsId: string
  siteId: string
}

/** A filled database: one group with all of the content, and another one with little. */
export interface Dataset extends FilledGroup {
  env: DatasetEnv
  neighbour: FilledGroup
}

/** Larger transactions are faster; smaller ones report progress more often. */
const itemsPerTransaction = 2000
const neighbourItems = 200

async function addPictures(content: GroupStore, posts: NewObject[], nowMs: number): Promise<NewObject[]> {
  const { groupId } = content
  const pictures = posts.map(() => makePicture(groupId, nowMs, `${makeId()}.jpg`))
  await write(content, nowMs, async (writer) => {
    for (const picture of pictures) {
      await insertFile(writer, picture.file)
      await insertMedia(writer, picture)
    }
  })
  return posts.map((post, position) => {
    const { name, key, type } = pictures[position] ?? {}
    return { ...post, value: { ...post.value, cover: { name, key, type } } }
  })
}

async function addPosts(
  content: GroupStore,
  collection: Container,
  { items, hasPictures = false }: { items: number; hasPictures?: boolean },
  onProgress: (done: number) => void,
): Promise<void> {
  for (let done = 0; done < items; done += itemsPerTransaction) {
    onProgress(done)
    const nowMs = Date.now()
    const posts = makePosts(done, Math.min(itemsPerTransaction, items - done))
    const complete = hasPictures ? await addPictures(content, posts, nowMs) : posts
    await write(content, nowMs, (writer) => insertObjects(writer, collection, complete))
  }
}

/** Writes through the store's own functions only, so that index, counters and change records are real. */
export async function fillDataset(
  env: DatasetEnv,
  options: { items: number; hasPictures?: boolean },
  onProgress: (done: number) => void,
): Promise<Dataset> {
  const store = await openStore({
    dataDir: env.DATA_DIR,
    databaseUrl: env.DATABASE_URL || undefined,
    clock: Date.now,
    onConnectionError: (error) => {
      throw error
    },
  })
  async function fillGroup(group: Group, much: typeof options): Promise<FilledGroup> {
    const nowMs = Date.now()
    const { key: apiKey } = await createApiKey(store, group.id, 'bench', nowMs)
    const content = await openContentOf(store, group)
    const schema = much.hasPictures ? { ...postSchema, cover: { type: 'image' } } : postSchema
    const collection = await createContainer(content, { kind: 'collection', name: 'Posts', schema }, nowMs)
    const reviews = await write(content, nowMs, (writer) =>
      insertContainer(writer, {
        kind: 'collection',
        name: 'Reviews',
        schema: parseSchema(reviewSchema),
        settings: { accepts: ['createReview'] },
      }),
    )
    const site = await createSite(content, siteInput, nowMs)
    await addPosts(content, collection, much, onProgress)
    await splitRanges(content, { nowMs: Date.now() }) // as a job would
    const ids = { groupId: group.id, collectionId: collection.id, reviewsId: reviews.id, siteId: site.id }
    return { ...ids, database: group.database, apiKey, items: much.items }
  }
  const makeGroup = (name: string) => createGroup(store, { name, tier: 'proplus' }, Date.now())
  try {
    const neighbour = await fillGroup(await makeGroup('Neighbour'), { items: Math.min(neighbourItems, options.items) })
    return { ...(await fillGroup(await makeGroup('Bench'), options)), neighbour, env }
  } finally {
    await store.close()
  }
}
