import type { ContainerSettings } from '../../src/content/model.ts'
import { parseSchema } from '../../src/content/schema.ts'
import type { Tier } from '../../src/core/tiers.ts'
import { insertContainer } from '../../src/store/content/containers.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { type GroupStore, openGroup } from '../../src/store/store.ts'
import { createApiKey, createContainer, createGroup, createItem, createObjects, createSite, write } from '../helpers/authoring.ts' // biome-ignore format: one line reads better
import { schemas } from '../helpers/verb-steps.ts'
import { reviewSchema } from '../helpers/visitors.ts'
import type { Cluster } from './cluster.ts'
import type { TrueAnswer } from './reference.ts'
import { type Places, type Target, targetsOf } from './targets.ts'
import { createTimeline, type Timeline } from './timeline.ts'

const hourMs = 3_600_000

export interface TestKey {
  id: string
  key: string
  /** The one that this has replaced. */
  former: string | undefined
}

/** Who is let in, and as what. It is known to each process for a second, also to the one that changes it. */
export interface Control {
  tier: Tier
  frozen: boolean
  revoked: ReadonlySet<string>
}

/** A group, what is asked of it, and what may be answered. */
export interface Side {
  groupId: string
  store: GroupStore
  ids: Omit<Places, 'foreignId'>
  keys: TestKey[]
  targets: Target[]
  /** Of the content only the number of its writes is kept. */
  content: Timeline<undefined>
  control: Timeline<Control>
  /** As it was after the last write. */
  revision: number
  /** The last write that each of the two processes acknowledged itself: from then on it must be seen there. */
  own: [number, number]
  /** The answers that were right for a target, a tier and a state of the content. */
  truths: Map<string, Map<number, TrueAnswer>>
  /** The ETags that came for a target. */
  etags: Map<number, string[]>
  /** The targets that were asked for, the last one last. */
  asked: Set<number>
}

const text = { type: 'text' }
const productSchema = { name: text, productType: text, productImage: { type: 'image' } }

async function openReviews(store: GroupStore, name: string, settings: ContainerSettings, nowMs: number) {
  const schema = parseSchema(reviewSchema)
  const container = {
    kind: 'collection' as const,
    name,
    schema,
    settings: { accepts: ['createReview' as const], ...settings },
  }
  return write(store, nowMs, (writer) => insertContainer(writer, container))
}

/** A group with something of each kind, visible and not. */
async function fillGroup({ reference, clock }: Cluster, name: string, keyCount: number) {
  const { store } = reference.service
  const { now } = clock
  const { id: groupId, database } = await createGroup(store, { name, tier: 'pro' }, now)
  const keys: TestKey[] = []
  for (let n = 0; n < keyCount; n += 1) {
    const { id, key } = await createApiKey(store, groupId, 'website', now)
    keys.push({ id, key, former: undefined })
  }
  const group = await openGroup(store, { database, groupID: groupId })
  for (const file of ['cover.png', 'logo.png']) await createItem(group, `${groupId}/${file}`, now)
  const media = (file: string) => ({ name: file, key: `${groupId}/${file}`, type: 'image' })
  const posts = await createContainer(group, { kind: 'collection', name: 'Collection 0', schema: schemas[1] }, now)
  await createObjects(group, posts, [
    { value: { title: 'a', rating: '5', body: `<p>Fresh bread of ${name}</p>`, cover: media('cover.png') } },
    { value: { title: 'b', rating: '4.50' }, publishMs: now - hourMs },
    { value: { title: 'Ärger', rating: '3' }, publishMs: now + 700 },
    { value: { title: 'later', rating: '5' }, publishMs: now + hourMs },
    { value: { title: 'hidden', rating: '1' }, archived: true, review: 'pending' },
  ], now) // biome-ignore format: a table
  const reviews = await openReviews(group, 'Reviews', {}, now)
  const held = await openReviews(group, 'Held', { moderation: true }, now)
  const stripe = await createContainer(group, { kind: 'integration', name: 'stripe', schema: productSchema }, now)
  await createObjects(group, stripe, [
    { value: { name: `Cake of ${name}`, productType: 'Cake', productImage: media('cover.png') }, externalId: 'p1' },
    { value: { name: 'Loaf', productType: 'Bread' }, externalId: 'p2' },
    { value: { name: 'Roll', productType: 'Bread' }, externalId: 'p3', publishMs: now + hourMs / 2 },
  ], now) // biome-ignore format: a table
  const site = await createSite(
    group,
    { name, domainName: '', settings: { logo: media('logo.png'), motto: name } },
    now,
  )
  const ids = { collectionId: posts.id, reviewsId: reviews.id, heldId: held.id, siteId: site.id }
  return { groupId, store: group, ids, keys, revision: await readRevision(group) }
}

/** Two groups that differ in all that they say and look alike from outside. The first one has two keys. */
export async function newSides(cluster: Cluster): Promise<[Side, Side]> {
  const [first, second] = [await fillGroup(cluster, 'Harbour', 2), await fillGroup(cluster, 'Mill', 1)]
  const { now } = cluster.clock
  const sideOf = (filled: typeof first, foreignId: string): Side => ({
    ...filled,
    targets: targetsOf({ ...filled.ids, foreignId }),
    content: createTimeline(undefined, now),
    control: createTimeline<Control>({ tier: 'pro', frozen: false, revoked: new Set() }, now),
    own: [0, 0],
    truths: new Map(),
    etags: new Map(),
    asked: new Set(),
  })
  return [sideOf(first, second.ids.collectionId), sideOf(second, first.ids.collectionId)]
}
