import fc from 'fast-check'
import type { Container } from '../../src/content/model.ts'
import { toIso } from '../../src/content/moments.ts'
import type { Field, Fields, Schema } from '../../src/content/schema.ts'
import { listContainers } from '../../src/store/content/containers.ts'
import { listPreviewTokens } from '../../src/store/content/preview-tokens.ts'
import { listSites } from '../../src/store/content/sites.ts'
import type { GroupStore } from '../../src/store/store.ts'
import type { Method } from './manage.ts'

/** Random calls of the management API: mostly valid ones, and always some that must be refused. */
const hourMs = 3_600_000
const text = { type: 'text' }
/** Nested values with a reference, a file, a private field and a text each. */
const inside = {
  link: { type: 'reference' }, note: { type: 'text', private: true }, cover: { type: 'image' }, body: { type: 'longText' },
} // biome-ignore format: short
export const nested = {
  box: { type: 'object', fields: inside },
  rows: { type: 'list', of: { type: 'object', fields: { ...inside, box: { type: 'object', fields: inside } } } },
  parts: { type: 'blocks', blocks: { prose: { fields: { body: inside.body, note: inside.note } }, go: { fields: inside } } },
} // biome-ignore format: a table
export const schemas: Record<string, Record<string, unknown>>[] = [
  { title: { type: 'text', required: true }, rating: { type: 'integer', max: 5 }, tags: { type: 'list', of: text }, secret: { type: 'text', private: true }, link: { type: 'reference' } },
  { title: text, rating: { type: 'decimal' }, cover: { type: 'image' }, body: { type: 'longText' }, link: { type: 'reference' }, ...nested },
  { title: { type: 'text', searchable: false, filterable: false }, rating: text, tags: { type: 'variant', of: { type: 'list', of: text } }, secret: text },
  { headline: text, rating: { type: 'integer' }, tags: { type: 'list', of: { type: 'slug' } }, body: text },
] // biome-ignore format: a table

/** Values by field type, besides another group's files and other invalid values. */
const pools: Record<string, readonly unknown[]> = {
  text: ['a', 'Ärger', 'a b', '10', ''],
  longText: ['<p>Fresh <b>bread</b></p>', 'x'],
  integer: [1, 2, 5],
  decimal: ['4.50', 3, '10'],
  list: [[], ['x'], ['x', 'y', 'x'], ['y', 'x']],
  variant: [['x'], { S: ['x'], L: ['z', 'x'] }, { S: [] }],
  image: ['own'],
  reference: ['object 0', 'object 1', 'object 2', 'object 3', 'product 0'],
}
const misfits = [9, 'good', null, {}, ['x', 1], 'foreign']
const names = ['title', 'headline', 'rating', 'tags', 'body', 'secret', 'cover', 'link', 'link', 'box', 'rows', 'parts']
const values = fc.dictionary(fc.constantFrom(...names), fc.nat(9), { maxKeys: 4 })
const state = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  { weight: 4, arbitrary: fc.record({ publishDate: fc.constantFrom<unknown>(-1, 0, 0.5, 2, 8, null) }) },
  { weight: 2, arbitrary: fc.constantFrom({ draft: true }, { archived: true }, { archived: false }) },
  { weight: 1, arbitrary: fc.constantFrom({ publishDate: 'soon' }, { publishDate: 1, draft: true }, { nope: 1 }) },
)
const seldom = fc.nat(9).map((n) => n === 0)

export interface Step {
  /** One of the two groups. */
  who: number
  waitMs: number
  verb: string
  at: number
  next: number
  isStale: boolean
  /** Uses another group's ids, or fields that are not in the schema. */
  isWild: boolean
  isTrue: boolean
  /** The index of the value by field. */
  values: Record<string, number>
  state: Record<string, unknown>
}

/** The contents of a group, to pick from. */
export interface World {
  groupId: string
  collections: Container[]
  objects: { id: string; containerId: string; version: number }[]
  products: { id: string; version: number }[]
  /** Of any outcome. */
  submissions: { id: string }[]
  sites: { id: string; version: number }[]
  previews: string[]
}

export async function readWorld(group: GroupStore): Promise<World> {
  const containers = await listContainers(group)
  const rows = await group.database.read
    .selectFrom('objects')
    .select(['id', 'container_id', 'version', 'review'])
    .where('group_id', '=', group.groupId)
    .orderBy('id')
    .execute()
  const objects = rows.map(({ id, container_id, version }) => ({ id, containerId: container_id, version }))
  const isProduct = (containerId: string) => containers.find(({ id }) => id === containerId)?.kind === 'integration'
  return {
    groupId: group.groupId,
    collections: containers.filter(({ kind }) => kind === 'collection'),
    objects: objects.filter(({ containerId }) => !isProduct(containerId)),
    products: objects.filter(({ containerId }) => isProduct(containerId)),
    submissions: rows.filter(({ review }) => review !== null).map(({ id }) => ({ id })),
    sites: await listSites(group),
    previews: (await listPreviewTokens(group)).map(({ id }) => id),
  }
}

type Call = [method: Method, path: string, body?: object]
interface Scene extends Step {
  world: World
  nowMs: number
}

const nothing = { id: 'nope', version: 1, containerId: '', name: '' }
/** An element of a list, sometimes an unknown one. */
const pick = <Item>(items: readonly Item[], position: number): Item | typeof nothing =>
  items[position % (items.length + (position === 9 ? 1 : 0))] ?? nothing
const versionOf = ({ isStale }: Scene, { version }: { version: number }): number => (isStale ? version - 1 : version)

/** Each field has another value, and some have none. */
const valuesIn = (scene: Scene, fields: Fields, choice: number): object =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field], position) =>
      (choice + position) % 3 === 0 ? [] : [[name, makeValue(scene, field, choice + position)]],
    ),
  )

/** Sometimes the value of another type in wild steps. */
function makeNested(scene: Scene, field: Field | undefined, choice: number): unknown {
  if (scene.isWild && choice % 3 === 0) return undefined
  if (field?.type === 'object') return valuesIn(scene, field.fields, choice)
  if (field?.type === 'blocks')
    return Object.entries(field.blocks)
      .slice(choice % 2)
      .map(([type, { fields }], position) => ({ type, ...valuesIn(scene, fields, choice + position) }))
  if (field?.type !== 'list' || field.of.type !== 'object') return undefined
  return Array.from({ length: choice % 3 }, (_, position) => makeNested(scene, field.of, choice + position))
}

function makeValue(scene: Scene, field: Field | undefined, choice: number): unknown {
  const { world, isWild } = scene
  const whole = makeNested(scene, field, choice)
  if (whole !== undefined) return whole
  const pool = isWild ? misfits : (pools[field?.type ?? ''] ?? misfits)
  const value = pool[choice % pool.length]
  const media = (folder: string) => ({ name: 'Cover', key: `${folder}/cover.png`, type: 'image' })
  if (value === 'own') return media(world.groupId)
  const idOf = (name: unknown): unknown => {
    const [, kind, position] = /^(object|product) (\d)$/.exec(String(name)) ?? []
    return kind === undefined ? name : pick(kind === 'object' ? world.objects : world.products, Number(position)).id
  }
  if (field?.type === 'reference') return idOf(value)
  return value === 'foreign' ? media('f'.repeat(24)) : value
}

/** Required fields are sometimes omitted; fields that are not in the schema occur in wild steps only. */
function objectValueOf(scene: Scene, schema: Schema | undefined): object {
  const chosen = { ...(schema?.get('title')?.required && scene.at < 8 && { title: scene.next }), ...scene.values }
  const given = Object.entries(chosen).filter(([name]) => scene.isWild || schema?.has(name))
  return Object.fromEntries(given.map(([name, choice]) => [name, makeValue(scene, schema?.get(name), choice)]))
}

function stateOf({ state: given, nowMs }: Scene): object {
  const { publishDate } = given
  return { ...given, ...(typeof publishDate === 'number' && { publishDate: toIso(nowMs + publishDate * hourMs) }) }
}

function objectCall(scene: Scene): { path: string; version: number; objectValue: object } {
  const object = pick(scene.world.objects, scene.at)
  const container = scene.world.collections.find(({ id }) => id === object.containerId)
  return {
    path: `/objects/${object.id}`,
    version: versionOf(scene, object),
    objectValue: objectValueOf(scene, container?.schema),
  }
}

const action =
  (name: string) =>
  (scene: Scene): Call => {
    const { path, version } = objectCall(scene)
    return ['POST', `${path}/${name}`, scene.isTrue || scene.isStale ? { version } : {}]
  }

function bulkCall(scene: Scene): Call {
  const actions = ['patch', 'publish', 'archive', 'restore', 'duplicate', 'unpublish', 'delete', 'schedule']
  const name = actions[scene.next % actions.length]
  const items = [0, 1, 2].map((offset) => {
    const { path, version, objectValue } = objectCall({ ...scene, at: (scene.at + offset) % 9 })
    const objectId = path.slice('/objects/'.length)
    if (name === 'patch') return { objectId, version, objectValue }
    return name === 'schedule' ? { objectId, publishDate: toIso(scene.nowMs + hourMs) } : { objectId }
  })
  return ['POST', '/objects/bulk', { action: name, items }]
}

function settingsOf({ at, world, isWild }: Scene): object {
  const collectionId = isWild ? 'f'.repeat(24) : (world.collections[0]?.id ?? 'f'.repeat(24))
  const logo = { name: 'Logo', key: `${isWild ? 'f'.repeat(24) : world.groupId}/logo.png`, type: 'image' }
  const pages = [{ name: 'Blog', slug: 'blog', collections: [{ collectionId }] }]
  const pool = [
    { motto: 'a' },
    { motto: 'b', more: { deep: [1] } },
    { motto: null },
    { pages },
    { pages: null },
    { logo },
  ]
  return pool[at % pool.length] ?? { colors: { primary: at % 2 === 0 ? '#fff' : 'white' } }
}

function schemaCall(scene: Scene, more: object): Call {
  const collection = pick(scene.world.collections, scene.at)
  const schema = schemas[scene.next % schemas.length] ?? {}
  const current = 'schema' in collection ? collection.schema : new Map()
  const [from, to] = ['title', 'headline'].toSorted((name) => (current.has(name) ? -1 : 1))
  const renames =
    scene.isTrue && from && to && current.has(from) && to in schema && !(from in schema) ? { [from]: to } : {}
  const defaults = 'title' in schema && scene.at % 2 === 0 ? { title: 'untitled' } : {}
  const body = {
    version: versionOf(scene, collection),
    schema,
    renames,
    defaults,
    allowLoss: scene.next % 3 > 0,
    ...more,
  }
  return ['POST', `/collections/${collection.id}/schema`, body]
}

const builders: Record<string, [weight: number, build: (scene: Scene) => Call]> = {
  'site create': [1, (scene) => ['POST', '/sites', { name: 'Site', settings: settingsOf(scene) }]],
  'site update': [3, (scene) => {
    const site = pick(scene.world.sites, scene.next)
    const more = [{}, { name: `Site ${scene.at % 2}` }, { allowedOrigins: ['https://a.example'] }, { allowedRecipients: [] }]
    return ['PATCH', `/sites/${site.id}`, { version: versionOf(scene, site), settings: settingsOf(scene), ...more[scene.next % 4] }]
  }],
  'site delete': [1, ({ world, at }) => ['DELETE', `/sites/${pick(world.sites, at).id}`]],
  'collection create': [1, ({ at, next }) => ['POST', '/collections', { name: `Collection ${at % 4}`, schema: schemas[next % schemas.length] }]],
  'collection update': [1, (scene) => {
    const collection = pick(scene.world.collections, scene.at)
    const parts = [{ name: `Collection ${scene.next % 4}` }, { moderation: scene.isTrue }, { accepts: ['createReview'] }, {}]
    return ['PATCH', `/collections/${collection.id}`, { version: versionOf(scene, collection), ...parts[scene.next % 4] }]
  }],
  'collection change-schema': [4, (scene) => schemaCall(scene, {})],
  'collection try-schema': [1, (scene) => schemaCall(scene, { dryRun: true })],
  'collection delete': [1, ({ world, at, next }) => ['DELETE', `/collections/${pick(world.collections, at).id}?force=${next < 4}`]],
  'object create': [5, (scene) => {
    const collection = pick(scene.world.collections, scene.at)
    const objectValue = objectValueOf(scene, 'schema' in collection ? collection.schema : undefined)
    return ['POST', `/collections/${collection.id}/objects`, { objectValue, ...stateOf(scene) }]
  }],
  'object create-many': [1, (scene) => {
    const collection = pick(scene.world.collections, scene.at)
    const objectValue = objectValueOf(scene, 'schema' in collection ? collection.schema : undefined)
    return ['POST', `/collections/${collection.id}/objects/bulk`, { items: [{ objectValue }, { objectValue, ...stateOf(scene) }] }]
  }],
  'object update': [2, (scene) => {
    const { path, ...body } = objectCall(scene)
    return ['PUT', path, { ...body, ...stateOf(scene) }]
  }],
  'object patch': [4, (scene) => {
    const { path, ...body } = objectCall(scene)
    return ['PATCH', path, { ...body, ...stateOf(scene) }]
  }],
  'object delete': [1, (scene) => {
    const { path, version } = objectCall(scene)
    return ['DELETE', `${path}?version=${version}&force=${scene.next < 5}`]
  }],
  'object duplicate': [1, (scene) => ['POST', `${objectCall(scene).path}/duplicate`]],
  'object publish': [2, action('publish')],
  'object schedule': [2, (scene) => ['POST', `${objectCall(scene).path}/schedule`, { publishDate: toIso(scene.nowMs + (scene.next - 1) * hourMs) }]],
  'object unpublish': [1, action('unpublish')],
  'object archive': [1, action('archive')],
  'object restore': [2, action('restore')],
  'object restore-version': [2, (scene) => {
    const { path, version } = objectCall(scene)
    return ['POST', `${path}/versions/${Math.max(1, version - 1 - (scene.next % 3))}/restore`]
  }],
  'object draft patch': [3, (scene) => {
    const { path, objectValue } = objectCall(scene)
    return ['PATCH', `${path}/draft`, { objectValue }]
  }],
  'object draft publish': [2, (scene) => ['POST', `${objectCall(scene).path}/draft/publish`, { merge: scene.isTrue }]],
  'object draft schedule': [3, (scene) => ['POST', `${objectCall(scene).path}/draft/schedule`, { publishAt: scene.next === 0 ? null : toIso(scene.nowMs + scene.next * hourMs), merge: true }]],
  'object draft discard': [1, (scene) => ['DELETE', `${objectCall(scene).path}/draft`]],
  'site draft save': [1, (scene) => ['PATCH', `/sites/${pick(scene.world.sites, scene.next).id}/draft`, { settings: settingsOf(scene) }]],
  'site draft publish': [1, (scene) => ['POST', `/sites/${pick(scene.world.sites, scene.next).id}/draft/publish`, { merge: true }]],
  'object bulk': [3, bulkCall],
  'preview create': [2, ({ world, at }) => ['POST', '/previews', { objectId: pick([...world.objects, ...world.products], at).id }]],
  'preview revoke': [1, ({ world, at }) => ['POST', `/previews/${world.previews[at % 2] ?? 'nope'}/revoke`]],
  'product update': [2, (scene) => {
    const product = pick(scene.world.products, scene.at)
    const parts = [{ productType: 'Bread' }, { productType: null }, { name: 'Mine' }, { productImage: { name: 'x' } }]
    return ['PATCH', `/products/${product.id}`, { version: versionOf(scene, product), ...parts[scene.next % 4], ...stateOf(scene) }]
  }],
  'submission approve': [1, ({ world, at }) => ['POST', `/submissions/${pick(world.submissions, at).id}/approve`]],
  'submission reject': [1, ({ world, at }) => ['POST', `/submissions/${pick(world.submissions, at).id}/reject`]],
  'group set-tier': [1, ({ next }) => ['POST', '/tier', { tier: ['free', 'pro', 'gold'][next % 3] }]],
  'group set-versions': [1, ({ next }) => ['POST', '/versionsKept', { versionsKept: [0, 1, 3, 50, -1][next % 5] }]],
  'group freeze': [1, ({ isTrue }) => ['POST', isTrue ? '/freeze' : '/unfreeze']],
  'event list': [2, () => ['GET', '/events']],
} // biome-ignore format: a table

export const verbNames = Object.keys(builders)

export const step: fc.Arbitrary<Step> = fc.record({
  who: fc.nat(1),
  // Never 0: changes in the same millisecond would have the same `updatedAt`, and delivered answers could not be told apart.
  waitMs: fc.constantFrom(1, 1000, hourMs / 2, 3 * hourMs),
  verb: fc.constantFrom(...Object.entries(builders).flatMap(([name, [weight]]) => Array<string>(weight).fill(name))),
  at: fc.nat(9),
  next: fc.nat(9),
  isStale: seldom,
  isWild: seldom,
  isTrue: fc.boolean(),
  values,
  state,
})

export function callOf(taken: Step, world: World, nowMs: number): Call {
  const [, build] = builders[taken.verb] as [number, (scene: Scene) => Call]
  return build({ ...taken, world, nowMs })
}
