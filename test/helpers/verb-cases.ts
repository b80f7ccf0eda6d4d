import type { Container } from '../../src/content/model.ts'
import { makeId } from '../../src/core/ids.ts'
import { verbs } from '../../src/manage/index.ts'
import type { Verb } from '../../src/manage/verb.ts'
import { listOrders, type NewOrder, recordOrder } from '../../src/store/commerce/orders.ts'
import type { NewObject } from '../../src/store/content/objects.ts'
import { createAdminToken } from '../../src/store/control/admin-tokens.ts'
import { createInvitation } from '../../src/store/control/invitations.ts'
import { createServiceAccount } from '../../src/store/control/users.ts'
import { insertJob } from '../../src/store/jobs/jobs.ts'
import { mailServerField, mailServerSubject, putMailServer } from '../../src/store/mail/mail-servers.ts'
import { addSuppression } from '../../src/store/mail/suppressions.ts'
import { authoring, createApiKey, createPreviewToken, createSite, write } from './authoring.ts'
import { fileForm, type ManagedGroup, type Managing, type Method } from './manage.ts'
import { putMessage } from './outbox.ts'

export type Input = Record<string, unknown>

/** A group with something of every kind, in which every verb can be called. */
export interface Scene {
  created: Managing
  group: ManagedGroup
  posts: Container
  stripe: Container
  /** A unique text; all texts of a scene begin with its mark. */
  fresh(): string
}

export async function setScene(created: Managing, mark = 'plain'): Promise<Scene> {
  let count = 0
  const fresh = () => `${mark}-${++count}`
  const group = await created.newManagedGroup({ name: fresh() })
  const posts = await group.collection(fresh(), {
    title: { type: 'text', required: true },
    done: { type: 'boolean' },
    cover: { type: 'image' },
  })
  const stripe = await group.integration('stripe', { name: { type: 'text' }, productType: { type: 'text' } })
  const scene = { created, group, posts, stripe, fresh }
  // An object of each kind that can be listed.
  for (const make of [
    newObject,
    newSubmission,
    newProduct,
    newSite,
    newPreview,
    newKey,
    newToken,
    newInvitation,
    newFile,
    newJob,
    newAccount,
    newOrder,
    newMail,
    newSuppression,
  ])
    await make(scene)
  return scene
}

async function newObject({ group, posts, fresh }: Scene, more: Partial<NewObject> = {}): Promise<string> {
  const [object] = await group.add(posts, { value: { title: fresh() }, ...more })
  return object?.id ?? ''
}

const newSubmission = (scene: Scene) => newObject(scene, { review: 'pending', archived: true })

async function newProduct({ group, stripe, fresh }: Scene): Promise<string> {
  const value = { name: fresh(), productType: 'Bread' }
  const [product] = await group.add(stripe, { value, externalId: fresh(), accountHandle: 'main' })
  return product?.id ?? ''
}

/** An object with two versions. */
async function newChangedObject(scene: Scene): Promise<string> {
  const { group, created, fresh } = scene
  const objectId = await newObject(scene)
  const change = { version: 1, objectValue: { title: fresh() } }
  await created.ask('PATCH', `/manage/groups/${group.groupId}/objects/${objectId}`, change)
  return objectId
}

/** An object with a working copy. */
async function onDraft(scene: Scene): Promise<{ objectId: string }> {
  const { group, created, fresh } = scene
  const objectId = await newObject(scene)
  const path = `/manage/groups/${group.groupId}/objects/${objectId}/draft`
  await created.ask('PUT', path, { objectValue: { title: fresh() } })
  return { objectId }
}

async function newSite({ group, created, fresh }: Scene, pages?: object[]): Promise<string> {
  const site = { name: fresh(), domainName: '', settings: { motto: fresh(), ...(pages && { pages }) } }
  return (await createSite(group.store, site, created.clock.now)).id
}

/** A site with a working copy. */
async function onSiteDraft(scene: Scene): Promise<{ siteId: string }> {
  const { group, created, fresh } = scene
  const siteId = await newSite(scene)
  await created.ask('PATCH', `/manage/groups/${group.groupId}/sites/${siteId}/draft`, { settings: { motto: fresh() } })
  return { siteId }
}

async function newFile({ created, group, fresh }: Scene): Promise<string> {
  const form = fileForm(`${fresh()}.txt`, `a text, ${makeId()}`)
  return (await created.ask('POST', `/manage/groups/${group.groupId}/media`, form))._id
}

const newCollection = async ({ group, fresh }: Scene) =>
  (await group.collection(fresh(), { title: { type: 'text' } })).id

const newType = async ({ group, fresh }: Scene) =>
  (await group.integration(fresh(), { caption: { type: 'text' } })).name

async function newPreview(scene: Scene): Promise<string> {
  const { group, created } = scene
  return (await createPreviewToken(group.store, { objectId: await newObject(scene) }, created.clock.now)).id
}

const newKey = async ({ group, created, fresh }: Scene) =>
  (await createApiKey(created.service.store, group.groupId, fresh(), created.clock.now)).id

const newUser = async ({ created, fresh }: Scene) => (await created.newUser({ name: fresh() })).user.id

const newMember = async ({ created, group, fresh }: Scene) =>
  (await created.newUser({ name: fresh() }, { [group.groupId]: 'viewer' })).user.id

const newServiceAccount = async ({ created, group, fresh }: Scene) =>
  (
    await createServiceAccount(
      created.service.store,
      group.groupId,
      { name: fresh(), role: 'viewer' },
      authoring(created.clock.now),
    )
  ).id

async function newInvitation({ created, group, fresh }: Scene, { groupId, members } = group) {
  const email = `${fresh()}@people.example`
  const input = { email, role: 'viewer' as const, invitedBy: members.owner.user.id, tokenExpiresMs: null }
  return createInvitation(created.service.store, groupId, input, authoring(created.clock.now))
}

/** In a group that none of the callers is a member of. */
const onInvitation = async (scene: Scene) => ({
  secret: (await newInvitation(scene, await scene.created.newManagedGroup({ name: scene.fresh() }))).token,
})

/** Narrowed to this group. */
async function newToken({ created, group, fresh }: Scene): Promise<{ userId: string; tokenId: string }> {
  const { user } = group.members.viewer
  const wanted = { label: fresh(), groupId: group.groupId }
  const { id } = await createAdminToken(created.service.store, user, wanted, authoring(created.clock.now))
  return { userId: user.id, tokenId: id }
}

/** Of a kind without a handler. */
const newJob = ({ created, group, fresh }: Scene) =>
  write(group.store, created.clock.now, (writer) => insertJob(writer, { kind: 'none', payload: { mark: fresh() } }))

const accountKey = ({ fresh }: Scene) => `sk_test_${fresh()}_${makeId()}`

async function newAccount(scene: Scene): Promise<{ integrationId: string; secretKey: string }> {
  const { created, group, fresh } = scene
  const secretKey = accountKey(scene)
  const account = { type: 'stripe', accountHandle: fresh(), secretKey }
  const { _id } = await created.ask('POST', `/manage/groups/${group.groupId}/integrations`, account)
  return { integrationId: _id, secretKey }
}

async function newSandbox({ created, group, fresh }: Scene): Promise<string> {
  const account = { type: 'stripe', accountHandle: fresh() }
  return (await created.ask('POST', `/manage/groups/${group.groupId}/integrations/sandbox`, account))._id
}

async function newOrder({ created, group, fresh }: Scene): Promise<{ orderId: string; sessionId: string }> {
  const sessionId = makeId()
  const line = { description: fresh(), priceId: 'price_1', productId: 'prod_1', quantity: 2, amount: '9.00' }
  const order: NewOrder = {
    type: 'stripe',
    accountHandle: 'main',
    sessionId,
    status: 'paid',
    live: false,
    mode: 'payment',
    currency: 'cad',
    subtotal: '9.00',
    total: '9.00',
    email: `${fresh()}@people.example`,
    name: fresh(),
    phone: null,
    shipping: null,
    lines: [line],
    paymentId: 'pi_1',
    siteId: null,
    createdMs: created.clock.now,
  }
  await write(group.store, created.clock.now, (writer) => recordOrder(writer, order))
  const { orders } = await listOrders(group.store, { sessionId, limit: 1, skip: 0 })
  return { orderId: orders[0]?.id ?? '', sessionId }
}

const newMail = ({ created, group, fresh }: Scene): Promise<string> =>
  putMessage(group.store, created.clock.now, {
    recipient: `${fresh()}@people.example`,
    replyTo: `${fresh()}@people.example`,
    subject: fresh(),
    content: { siteName: fresh(), title: fresh() },
  })

async function newSuppression({ created, group, fresh }: Scene): Promise<string> {
  const address = `${fresh()}@people.example`
  await write(group.store, created.clock.now, (writer) => addSuppression(writer, address, fresh()))
  return address
}

async function newMailServer({ created, group }: Scene): Promise<void> {
  const { port, url } = created.mailServer
  await write(group.store, created.clock.now, async (writer) => {
    await created.service.mail.vault.put(writer, mailServerSubject, mailServerField, url)
    await putMailServer(writer, { fromAddress: 'hello@shop.example', host: '127.0.0.1', port, tls: 'optional' })
  })
}

const onMail = async (scene: Scene) => ({ mailId: await newMail(scene) })
const onAccount = async (scene: Scene) => ({ integrationId: (await newAccount(scene)).integrationId })
const onObject = async (scene: Scene) => ({ objectId: await newObject(scene) })
const onJob = async (scene: Scene) => ({ jobId: await newJob(scene) })
const onFile = async (scene: Scene) => ({ mediaId: await newFile(scene) })
const pagesOf = (collectionId: string) => [{ name: 'Home', slug: 'home', collections: [{ collectionId }] }]

/** Valid input for each verb, with a separate subject where it changes one. A missing `groupId` is added. */
const inputs: Record<string, (scene: Scene) => Promise<Input> | Input> = {
  'group create': ({ fresh }) => ({ name: fresh(), tier: 'pro' }),
  'group list': () => ({}),
  'group show': () => ({}),
  'group rename': ({ fresh }) => ({ name: fresh() }),
  'group set-tier': ({ fresh }) => ({ tier: Number(fresh().split('-').at(-1)) % 2 === 0 ? 'pro' : 'basic' }),
  'group set-versions': ({ fresh }) => ({ versionsKept: Number(fresh().split('-').at(-1)) }),
  'group freeze': () => ({}),
  'group unfreeze': () => ({}),
  'group delete': async ({ created, fresh }) => {
    const { groupId, group } = await created.newManagedGroup({ name: fresh() })
    return { groupId, confirm: group.name }
  },
  whoami: () => ({}),
  'user create': ({ fresh }) => ({ name: fresh(), email: `${fresh()}@people.example`, administrator: true }),
  'user list': () => ({}),
  'user disable': async (scene) => ({ userId: await newUser(scene) }),
  'user enable': async (scene) => ({ userId: await newUser(scene) }),
  'token create': async (scene) => ({
    userId: await newMember(scene),
    label: scene.fresh(),
    groupId: scene.group.groupId,
    role: 'viewer',
    lifeSeconds: 3600,
  }),
  'token list': async (scene) => ({ userId: (await newToken(scene)).userId }),
  'token revoke': newToken,
  'member list': () => ({}),
  'member add': ({ fresh }) => ({ email: `${fresh()}@people.example`, name: fresh(), role: 'owner' }),
  'member set-role': async (scene) => ({ userId: await newMember(scene), role: 'editor' }),
  'member remove': async (scene) => ({ userId: await newMember(scene) }),
  'member add-service': ({ fresh }) => ({ name: fresh(), role: 'editor' }),
  'member invitations': () => ({}),
  'member withdraw': async (scene) => ({ invitationId: (await newInvitation(scene)).id }),
  'member token': async (scene) => ({
    userId: await newServiceAccount(scene),
    label: scene.fresh(),
    role: 'viewer',
    lifeSeconds: 3600,
  }),
  'member tokens': () => ({}),
  'member revoke-token': async (scene) => ({ tokenId: (await newToken(scene)).tokenId }),
  'invitation list': () => ({}),
  'invitation accept': async (scene) => ({ ...(await onInvitation(scene)), name: scene.fresh() }),
  'invitation decline': onInvitation,
  'key create': ({ fresh }) => ({ label: fresh() }),
  'key list': () => ({}),
  'key revoke': async (scene) => ({ keyId: await newKey(scene) }),
  'key rotate': async (scene) => ({ keyId: await newKey(scene), graceSeconds: 60 }),
  'site create': async ({ fresh, posts }) => ({
    name: fresh(),
    domainName: 'www.shop.example',
    settings: { motto: fresh(), pages: pagesOf(posts.id) },
    allowedOrigins: ['https://shop.example'],
    allowedRecipients: ['hello@shop.example'],
    shippingCountries: ['CA', 'US'],
    noticesTo: 'hello@shop.example',
    noticesRhythm: 'daily',
  }),
  'site list': () => ({}),
  'site show': async (scene) => ({ siteId: await newSite(scene) }),
  'site update': async (scene) => ({
    siteId: await newSite(scene),
    version: 1,
    name: scene.fresh(),
    settings: { motto: null, pages: pagesOf(scene.posts.id) },
  }),
  'site set-page': async (scene) => ({
    siteId: await newSite(scene),
    slug: 'home',
    version: 1,
    page: pagesOf(scene.posts.id)[0],
  }),
  'site remove-page': async (scene) => ({
    siteId: await newSite(scene, pagesOf(scene.posts.id)),
    slug: 'home',
    version: 1,
  }),
  'site delete': async (scene) => ({ siteId: await newSite(scene) }),
  'site draft save': async (scene) => ({
    siteId: await newSite(scene),
    ifRevision: 0,
    settings: { motto: null, pages: pagesOf(scene.posts.id) },
  }),
  'site draft show': onSiteDraft,
  'site draft diff': onSiteDraft,
  'site draft discard': onSiteDraft,
  'site draft publish': async (scene) => ({ ...(await onSiteDraft(scene)), onto: 1, merge: true }),
  'site draft schedule': async (scene) => ({ ...(await onSiteDraft(scene)), publishAt: '2030-05-01T00:00:00Z' }),
  'media add': ({ fresh }) => ({ name: fresh() }),
  'media list': () => ({ type: 'file', search: 'note', limit: 50 }),
  'media show': onFile,
  'media usage': onFile,
  'media rename': async (scene) => ({ ...(await onFile(scene)), name: scene.fresh() }),
  'media replace': onFile,
  'media delete': async (scene) => ({ ...(await onFile(scene)), force: true }),
  'media derive': () => ({}),
  'media sweep': () => ({ dryRun: false }),
  'collection create': ({ fresh }) => ({
    name: fresh(),
    schema: { title: { type: 'text' } },
    accepts: ['createReview'],
    moderation: true,
    hourlyLimit: 50,
  }),
  'collection list': () => ({}),
  'collection show': ({ posts }) => ({ collectionId: posts.id }),
  'collection update': async (scene) => ({
    collectionId: await newCollection(scene),
    version: 1,
    name: scene.fresh(),
    moderation: true,
  }),
  'collection change-schema': async (scene) => ({
    collectionId: await newCollection(scene),
    version: 1,
    schema: { heading: { type: 'text' } },
    renames: { title: 'heading' },
    defaults: { heading: scene.fresh() },
    allowLoss: false,
    dryRun: false,
  }),
  'collection delete': async (scene) => ({ collectionId: await newCollection(scene), force: true }),
  'object create': ({ fresh, posts }) => ({
    collectionId: posts.id,
    objectValue: { title: fresh() },
    publishDate: '2026-05-01T00:00:00Z',
    archived: false,
  }),
  'object list': ({ posts }) => ({ collectionId: posts.id, status: 'published', limit: 50, sort: 'title:asc' }),
  'object show': onObject,
  'object references': onObject,
  'object update': async (scene) => ({ ...(await onObject(scene)), version: 1, objectValue: { title: scene.fresh() } }),
  'object patch': async (scene) => ({
    ...(await onObject(scene)),
    version: 1,
    objectValue: { done: true },
    draft: true,
  }),
  'object delete': async (scene) => ({ ...(await onObject(scene)), version: 1 }),
  'object duplicate': onObject,
  'object publish': async (scene) => ({ objectId: await newObject(scene, { archived: true }), version: 1 }),
  'object schedule': async (scene) => ({ ...(await onObject(scene)), publishDate: '2026-05-01T00:00:00Z' }),
  'object unpublish': onObject,
  'object archive': onObject,
  'object restore': async (scene) => ({ objectId: await newObject(scene, { archived: true }) }),
  'object create-many': ({ fresh, posts }) => ({
    collectionId: posts.id,
    items: [{ objectValue: { title: fresh() } }, { objectValue: { title: fresh() }, draft: true }],
  }),
  'object bulk': async (scene) => ({ action: 'archive', items: [await onObject(scene), await onObject(scene)] }),
  'object versions': onObject,
  'object diff': async (scene) => ({ objectId: await newChangedObject(scene), from: 1, to: 2 }),
  'object restore-version': async (scene) => ({ objectId: await newChangedObject(scene), toVersion: 1, version: 2 }),
  'object draft save': async (scene) => ({
    ...(await onObject(scene)),
    ifRevision: 0,
    objectValue: { title: scene.fresh() },
  }),
  'object draft patch': async (scene) => ({ ...(await onObject(scene)), ifRevision: 0, objectValue: { done: true } }),
  'object draft show': onDraft,
  'object draft diff': onDraft,
  'object draft discard': onDraft,
  'object draft publish': async (scene) => ({ ...(await onDraft(scene)), onto: 1, merge: true }),
  'object draft schedule': async (scene) => ({ ...(await onDraft(scene)), publishAt: '2030-05-01T00:00:00Z' }),
  'object draft list': () => ({ limit: 50 }),
  'preview create': async (scene) => ({ ...(await onObject(scene)), lifeSeconds: 3600, maxUses: 3 }),
  'preview create-site': () => ({ lifeSeconds: 3600, maxUses: 3 }),
  'preview list': onObject,
  'preview revoke': async (scene) => ({ previewId: await newPreview(scene) }),
  'integration connect': (scene) => ({ type: 'stripe', accountHandle: scene.fresh(), secretKey: accountKey(scene) }),
  'integration sandbox': ({ fresh }) => ({ type: 'stripe', accountHandle: fresh() }),
  'integration list': () => ({}),
  'integration show': onAccount,
  'integration sync': onAccount,
  'integration rotate': async (scene) => {
    const { integrationId, secretKey } = await newAccount(scene)
    return { integrationId, secretKey: `${secretKey}2` }
  },
  'integration webhook': async (scene) => ({ integrationId: await newSandbox(scene) }),
  'integration secret': async (scene) => ({ ...(await onAccount(scene)), webhookSecret: `whsec_${makeId()}` }),
  'integration disconnect': onAccount,
  'integration-type create': ({ fresh }) => ({ type: fresh(), schema: { caption: { type: 'text' } } }),
  'integration-type list': () => ({}),
  'integration-type show': () => ({ type: 'stripe' }),
  'integration-type change-schema': async (scene) => ({
    type: await newType(scene),
    version: 1,
    schema: { text: { type: 'text' } },
    renames: { caption: 'text' },
    dryRun: false,
  }),
  'integration-type delete': async (scene) => ({ type: await newType(scene), force: true }),
  'product list': () => ({ type: 'stripe', accountHandle: 'main', limit: 50 }),
  'product show': async (scene) => ({ productId: await newProduct(scene) }),
  'product update': async (scene) => ({
    productId: await newProduct(scene),
    version: 1,
    productType: scene.fresh(),
    publishDate: null,
    archived: true,
  }),
  'sandbox create-product': async (scene) => ({
    integrationId: await newSandbox(scene),
    name: scene.fresh(),
    price: '5.50',
    currency: 'cad',
    metadata: { productType: 'Bread' },
  }),
  'sandbox update-product': async (scene) => {
    const integrationId = await newSandbox(scene)
    const path = `/manage/groups/${scene.group.groupId}/integrations/${integrationId}`
    const { accountHandle } = await scene.created.ask('GET', path)
    return { integrationId, providerId: `prod_${accountHandle}_mug`, name: scene.fresh(), price: '6.00' }
  },
  'order list': async (scene) => ({ sessionId: (await newOrder(scene)).sessionId, status: 'paid', limit: 50 }),
  'order show': async (scene) => ({ orderId: (await newOrder(scene)).orderId }),
  'submission list': ({ posts }) => ({ collectionId: posts.id, review: 'pending' }),
  'submission approve': async (scene) => ({ objectId: await newSubmission(scene) }),
  'submission reject': async (scene) => ({ objectId: await newSubmission(scene) }),
  'submission export': ({ posts }) => ({ collectionId: posts.id }),
  'mail list': () => ({ state: 'waiting', kind: 'contact', limit: 50 }),
  'mail show': async (scene) => ({ ...(await onMail(scene)), html: true }),
  'mail retry': onMail,
  'mail cancel': onMail,
  'mail test': ({ fresh }) => ({ to: `${fresh()}@people.example` }),
  'mail-server show': () => ({}),
  'mail-server set': ({ created }) => ({ from: 'hello@shop.example', smtpUrl: created.mailServer.url }),
  'mail-server remove': async (scene) => {
    await newMailServer(scene)
    return {}
  },
  'suppression list': () => ({ limit: 50 }),
  'suppression add': ({ fresh }) => ({ address: `${fresh()}@people.example`, reason: fresh() }),
  'suppression remove': async (scene) => ({ address: await newSuppression(scene) }),
  'audit list': async (scene) => ({ subjectId: await newObject(scene), limit: 50 }),
  'audit list-all': () => ({ limit: 50 }),
  'event list': () => ({ since: 0, limit: 50 }),
  jobs: ({ group }) => ({ state: 'waiting', kind: 'none', groupId: group.groupId, limit: 50 }),
  'job list': () => ({ state: 'waiting', limit: 50 }),
  'job show': onJob,
  'job retry': onJob,
  'job cancel': onJob,
}

/** A new verb needs an entry above, otherwise the shared tests do not cover it. */
export const verbsWithoutCase = (): string[] => verbs.map(({ name }) => name).filter((name) => !inputs[name])

export async function inputFor(verb: Verb, scene: Scene): Promise<Input> {
  const input = await inputs[verb.name]?.(scene)
  return { ...(verb.inGroup && { groupId: scene.group.groupId }), ...input }
}

export const namesInPath = ({ path }: Verb): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)

export const takesBody = ({ method, takesFile }: Verb): boolean => method !== 'GET' && method !== 'DELETE' && !takesFile

/** The verb as a request: path parameters, and the rest in the query string or the body. */
export function requestOf(verb: Verb, input: Input): [method: Method, path: string, body: object | undefined] {
  const inPath = namesInPath(verb)
  const path = verb.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const rest = Object.entries(input).filter(([name]) => !inPath.includes(name))
  if (takesBody(verb)) return [verb.method, path, rest.length > 0 ? Object.fromEntries(rest) : undefined]
  const query = new URLSearchParams(rest.map(([name, value]) => [name, String(value)])).toString()
  const file = verb.takesFile ? fileForm('note.txt', `a note, ${makeId()}`) : undefined
  return [verb.method, query === '' ? path : `${path}?${query}`, file]
}
