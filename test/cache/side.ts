import type { ContainerSettings } from '../../src/content/model.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { makeId } from '../../src/core/ids.ts'
import type { Tier } from '../../src/core/tiers.ts'
import { insertContainer } from '../../src/store/content/containers.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { type GroupStore, openGroup } from '../../src/store/store.ts'
import { createApiKey, createContainer, createGroup, createItem, createObjects, createSite, write } from '../helpers/authoring.ts' // biome-ignore format: one line reads better
import { schemas } from '../helpers/verb-steps.ts'
import { reviewSchema } from '../helpers/visitors.ts'
import type { Cluster } from './cluster.ts'
import type { CorrectAnswer } from './reference.ts'
import { type Target, type TargetIds, targetsOf } from './targets.ts'
import { createTimeline, type Timeline } from './timeline.ts'

const hourMs = 3_600_000

export interface TestKey {
  id: string
  key: string
  /** The key that this one replaced. */
  former: string | undefined
}

/** Access to the group. Each process may cache it for a second, including the one that changed it. */
export interface Control {
  tier: Tier
  frozen: boolean
  revoked: ReadonlySet<string>
}

/** A group, its requests, and the permitted answers. */
export interface Side {
  groupId: string
  store: GroupStore
  ids: Omit<TargetIds, 'foreignId'>
  keys: TestKey[]
  targets: Target[]
  /** Of content, only the number of writes is recorded. */
  content: Timeline<undefined>
  control: Timeline<Control>
  /** After the last write. */
  revision: number
  /** The last write acknowledged by each of the two processes: its later answers must show it. */
  own: [number, number]
  /** The correct answers by target, tier and state of the content. */
  truths: Map<string, Map<number, CorrectAnswer>>
  /** The ETags received, by target. */
  etags: Map<number, string[]>
  /** The requested targets, the latest last. */
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

/** References inside of objects, lists and blocks, beside private texts and files. */
const nestedValue = (first: string, second: string, cover: object) => ({
  box: { link: second, note: 'secret' },
  rows: [{ link: first, body: '<p>Crust</p>', box: { link: second, cover } }, { note: 'secret' }],
  parts: [{ type: 'go', link: second, cover }, { type: 'prose', body: 'Crumb', note: 'secret' }, { type: 'go', link: first }],
}) // biome-ignore format: a table

/** A group with objects of every kind, visible and hidden. */
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
  const [soon, later, roll] = [makeId(), makeId(), makeId()]
  await createObjects(group, posts, [
    { value: { ...nestedValue(soon, roll, media('logo.png')), link: soon, title: 'a', rating: '5', body: `<p>Fresh bread of ${name}</p>`, cover: media('cover.png') } },
    { value: { link: later, title: 'b', rating: '4.50' }, publishMs: now - hourMs },
    { id: soon, value: { link: later, title: 'Ärger', rating: '3' }, publishMs: now + 700 },
    { id: later, value: { link: soon, title: 'later', rating: '5' }, publishMs: now + hourMs },
    { value: { title: 'hidden', rating: '1' }, archived: true, review: 'pending' },
  ], now) // biome-ignore format: a table
  const reviews = await openReviews(group, 'Reviews', {}, now)
  const held = await openReviews(group, 'Held', { moderation: true }, now)
  const stripe = await createContainer(group, { kind: 'integration', name: 'stripe', schema: productSchema }, now)
  await createObjects(group, stripe, [
    { value: { name: `Cake of ${name}`, productType: 'Cake', productImage: media('cover.png') }, externalId: 'p1' },
    { value: { name: 'Loaf', productType: 'Bread' }, externalId: 'p2' },
    { id: roll, value: { name: 'Roll', productType: 'Bread' }, externalId: 'p3', publishMs: now + hourMs / 2 },
  ], now) // biome-ignore format: a table
  const site = await createSite(
    group,
    { name, domainName: '', settings: { logo: media('logo.png'), motto: name } },
    now,
  )
  const ids = { collectionId: posts.id, reviewsId: reviews.id, heldId: held.id, siteId: site.id }
  return { groupId, store: group, ids, keys, revision: await readRevision(group) }
}

/** Two groups with the same structure and different content. The first one has two keys. */
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
