import assert from 'node:assert/strict'
import { it } from 'node:test'
import sharp from 'sharp'
import { verbs } from '../../src/manage/index.ts'
import { recordName, type Verb } from '../../src/manage/verb.ts'
import { createInvitation } from '../../src/store/control/invitations.ts'
import { insertJob } from '../../src/store/jobs/jobs.ts'
import { authoring, createContainer, createObjects, write } from '../helpers/authoring.ts'
import { assertRefused, type Data, editing, editingPosts } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { encode, fileForm, type Method } from '../helpers/manage.ts'
import { putMessage } from '../helpers/outbox.ts'

const address = '203.0.113.7'
const canary = 'canary-value'
const schema = { title: { type: 'text' } }
const pixel = (red: number): Promise<Buffer> =>
  sharp(new Uint8Array([red, 0, 0]), { raw: { width: 1, height: 1, channels: 3 } })
    .png()
    .toBuffer()
const [picture, otherPicture, forgotten] = await Promise.all([pixel(1), pixel(2), pixel(3)])
type Ids = Record<string, string>

/** Every changing verb, in a valid order: its input, the recorded change, and the name for its answer. */
const script: [verb: string, input: (ids: Ids) => object, types: string, keep?: string][] = [
  ['group create', () => ({ name: 'Audited' }), 'group.created', 'groupId'],
  ['group rename', () => ({ name: 'Renamed' }), 'group.updated'],
  ['group set-tier', () => ({ tier: 'pro' }), 'group.updated'],
  ['group set-versions', () => ({ versionsKept: 5 }), 'group.updated'],
  ['group freeze', () => ({}), 'group.updated'],
  ['group unfreeze', () => ({}), 'group.updated'],
  ['user create', () => ({ name: 'Ann', email: 'ann@example.com' }), 'user.created', 'userId'],
  ['token create', ({ userId }) => ({ userId, label: 'laptop' }), 'token.created', 'tokenId'],
  ['token revoke', ({ userId, tokenId }) => ({ userId, tokenId }), 'token.revoked'],
  ['user disable', ({ userId }) => ({ userId }), 'user.disabled'],
  ['user enable', ({ userId }) => ({ userId }), 'user.enabled'],
  ['member add', () => ({ email: 'ann@example.com', role: 'viewer' }), 'member.set'],
  ['member set-role', ({ userId }) => ({ userId, role: 'editor' }), 'member.set'],
  ['member add-service', () => ({ name: 'Robot', role: 'editor' }), 'member.set user.created'],
  ['member withdraw', ({ withdrawnId }) => ({ invitationId: withdrawnId }), 'invitation.withdrawn'],
  ['invitation decline', ({ declined }) => ({ secret: declined }), 'invitation.declined'],
  ['invitation accept', ({ accepted }) => ({ secret: accepted }), 'invitation.accepted member.set'],
  ['member token', ({ userId }) => ({ userId }), 'token.created', 'tokenId'],
  ['member revoke-token', ({ tokenId }) => ({ tokenId }), 'token.revoked'],
  ['member remove', ({ userId }) => ({ userId }), 'member.removed'],
  ['key create', () => ({ label: 'website' }), 'key.created', 'keyId'],
  ['key rotate', ({ keyId }) => ({ keyId }), 'key.created key.rotated'],
  ['key revoke', ({ keyId }) => ({ keyId }), 'key.revoked'],
  ['collection create', () => ({ name: 'Posts', schema }), 'collection.created', 'collectionId'],
  ['collection update', ({ collectionId }) => ({ collectionId, version: 1, moderation: true }), 'collection.updated'],
  ['site create', () => ({ name: 'Site', settings: { motto: canary } }), 'site.created', 'siteId'],
  ['site update', ({ siteId }) => ({ siteId, version: 1, settings: { motto: `${canary} 2` }, allowedRecipients: [`${canary}@example.com`] }), 'site.updated'],
  ['site set-page', ({ siteId }) => ({ siteId, slug: 'home', version: 2, page: { name: canary } }), 'site.updated'],
  ['site remove-page', ({ siteId }) => ({ siteId, slug: 'home', version: 3 }), 'site.updated'],
  ['site draft save', ({ siteId }) => ({ siteId, settings: { motto: canary } }), ''],
  ['site draft schedule', ({ siteId }) => ({ siteId, publishAt: '2030-01-01T00:00:00Z' }), 'draft.scheduled'],
  ['site draft publish', ({ siteId }) => ({ siteId, merge: true }), 'site.updated'],
  ['site draft discard', ({ siteId }) => ({ siteId }), 'draft.discarded'],
  ['site delete', ({ siteId }) => ({ siteId }), 'site.deleted'],
  ['object create', ({ collectionId }) => ({ collectionId, objectValue: { title: canary } }), 'content.created content.published', 'objectId'],
  ['object create-many', ({ collectionId }) => ({ collectionId, items: [{ objectValue: { title: canary }, draft: true }] }), 'content.created'],
  ['object update', ({ objectId }) => ({ objectId, version: 1, objectValue: { title: `${canary} 2` } }), 'content.updated'],
  ['object patch', ({ objectId }) => ({ objectId, version: 2, objectValue: { title: `${canary} 3` } }), 'content.updated'],
  ['object restore-version', ({ objectId }) => ({ objectId, toVersion: 1 }), 'content.updated'],
  ['object archive', ({ objectId }) => ({ objectId }), 'content.updated'],
  ['object restore', ({ objectId }) => ({ objectId }), 'content.published content.updated'],
  ['object unpublish', ({ objectId }) => ({ objectId }), 'content.updated'],
  ['object schedule', ({ objectId }) => ({ objectId, publishDate: '2030-01-01T00:00:00Z' }), 'content.updated'],
  ['object publish', ({ objectId }) => ({ objectId }), 'content.published content.updated'],
  ['object duplicate', ({ objectId }) => ({ objectId }), 'content.created'],
  ['object bulk', ({ objectId }) => ({ action: 'archive', items: [{ objectId }] }), 'content.updated'],
  // Saves are frequent, and change nothing that is delivered.
  ['preview create-site', () => ({}), 'preview.created'],
  ['object draft save', ({ objectId }) => ({ objectId, objectValue: { title: `${canary} 4` } }), ''],
  ['object draft publish', ({ objectId }) => ({ objectId }), 'content.updated'],
  ['object draft patch', ({ objectId }) => ({ objectId, objectValue: { title: `${canary} 5` } }), ''],
  ['object draft schedule', ({ objectId }) => ({ objectId, publishAt: '2030-01-01T00:00:00Z' }), 'draft.scheduled'],
  ['object draft discard', ({ objectId }) => ({ objectId }), 'draft.discarded'],
  ['collection change-schema', ({ collectionId }) => ({ collectionId, version: 2, schema: { name: schema.title }, renames: { title: 'name' } }), 'collection.updated content.updated'],
  ['preview create', ({ objectId }) => ({ objectId }), 'preview.created', 'previewId'],
  ['preview revoke', ({ previewId }) => ({ previewId }), 'preview.revoked'],
  ['submission approve', ({ submissionId }) => ({ objectId: submissionId }), 'content.published content.updated'],
  ['submission reject', ({ submissionId }) => ({ objectId: submissionId }), 'content.updated'],
  ['product update', ({ productId }) => ({ productId, version: 1, productType: canary }), 'content.updated'],
  ['integration connect', () => ({ type: 'stripe', secretKey: `sk_test_audited_${canary}` }), 'account.connected', 'integrationId'],
  ['integration sync', ({ integrationId }) => ({ integrationId }), 'account.updated'],
  ['integration rotate', ({ integrationId }) => ({ integrationId, secretKey: `sk_test_audited_2${canary}` }), 'account.updated'],
  ['integration secret', ({ integrationId }) => ({ integrationId, webhookSecret: `whsec_${canary}` }), 'account.updated'],
  ['integration disconnect', ({ integrationId }) => ({ integrationId }), 'account.updated'],
  ['integration sandbox', () => ({ type: 'stripe' }), 'account.connected account.updated', 'integrationId'],
  ['integration webhook', ({ integrationId }) => ({ integrationId }), 'account.updated'],
  ['sandbox create-product', ({ integrationId }) => ({ integrationId, name: canary, price: '1.00', currency: 'cad' }), 'account.updated'],
  ['sandbox update-product', ({ integrationId }) => ({ integrationId, providerId: 'prod_sandbox_mug', price: '15.00' }), 'account.updated'],
  ['integration-type create', () => ({ type: 'posts', schema }), 'integration.created'],
  ['integration-type change-schema', () => ({ type: 'posts', version: 1, schema: { ...schema, more: schema.title } }), 'integration.updated'],
  ['integration-type delete', () => ({ type: 'posts' }), 'integration.deleted'],
  ['media add', () => ({ file: picture }), 'media.created', 'mediaId'],
  ['media rename', ({ mediaId }) => ({ mediaId, name: 'door.png' }), 'media.updated'],
  ['media derive', () => ({}), 'media.updated'],
  ['media replace', ({ mediaId }) => ({ mediaId, file: otherPicture }), 'media.updated'],
  ['media delete', ({ mediaId }) => ({ mediaId }), 'media.deleted'],
  ['media sweep', () => ({ dryRun: false }), 'media.deleted'],
  ['mail retry', ({ mailId }) => ({ mailId }), 'mail.retried'],
  ['mail cancel', ({ mailId }) => ({ mailId }), 'mail.cancelled'],
  ['mail test', () => ({ to: `${canary}@example.com` }), 'mail.tested'],
  ['mail-server set', ({ smtpUrl }) => ({ from: `${canary}@example.com`, smtpUrl }), 'mailserver.updated'],
  ['mail-server remove', () => ({}), 'mailserver.removed'],
  ['suppression add', () => ({ address: `${canary}@example.com`, reason: canary }), 'suppression.added'],
  ['suppression remove', () => ({ address: `${canary}@example.com` }), 'suppression.removed'],
  ['job cancel', ({ jobId }) => ({ jobId }), 'job.cancelled'],
  ['job retry', ({ jobId }) => ({ jobId }), 'job.retried'],
  ['object delete', ({ objectId }) => ({ objectId }), 'content.deleted'],
  ['collection delete', ({ collectionId }) => ({ collectionId, force: true }), 'collection.deleted'],
  ['group delete', () => ({ confirm: 'Renamed' }), 'group.deleted group.updated'],
] // biome-ignore format: a table

interface Request {
  method: Verb['method']
  url: string
  payload?: object
  headers?: Record<string, string>
}

/** The request for a verb's input. */
async function requestOf({ method, path, input }: Verb, given: Record<string, unknown>): Promise<Request> {
  const inPath = (name: string): boolean => path.includes(`:${name}`)
  const url = path.replace(/:(\w+)/g, (_, name) => String(given[name]))
  const rest = Object.entries(given).filter(([name]) => !inPath(name) && Object.hasOwn(input.properties, name))
  if (given.file instanceof Buffer) {
    const { payload = {}, headers } = await encode(fileForm('picture.png', given.file))
    return { method, url, payload, headers }
  }
  if (method !== 'DELETE') return { method, url, payload: Object.fromEntries(rest) }
  return { method, url: `${url}?${rest.map(([name, value]) => `${name}=${value}`).join('&')}` }
}

async function withScript(engine: TestEngine) {
  const created = await editing(engine)
  const { admin, ask, clock, service } = created
  const { userId } = await ask('GET', '/manage/whoami')
  const ids: Ids = {}
  const secrets: string[] = []
  /** Content that no verb can create. */
  async function addForeign(groupId: string): Promise<void> {
    const { group } = created
    const store = { ...group.store, groupId }
    const reviews = await createContainer(store, { kind: 'collection', name: 'Reviews', schema }, clock.now)
    const [sent] = await createObjects(store, reviews, [{ value: { title: canary }, archived: true, review: 'pending' }], clock.now) // biome-ignore format: short
    const stripe = await createContainer(store, { kind: 'integration', name: 'stripe', schema: { productType: schema.title } }, clock.now) // biome-ignore format: short
    const [product] = await createObjects(store, stripe, [{ value: {}, externalId: 'p' }], clock.now)
    const jobId = await write(store, clock.now, (writer) => insertJob(writer, { kind: 'none', payload: { canary } }))
    const letter = { recipient: `${canary}@example.com`, subject: canary, content: { siteName: canary } }
    const mailId = await putMessage(store, clock.now, letter)
    const smtpUrl = created.mailServer.url
    const invite = (email: string) => {
      const input = { email, role: 'viewer' as const, invitedBy: userId, tokenExpiresMs: null }
      return createInvitation(service.store, groupId, input, authoring(clock.now))
    }
    const [first, second, third] = [
      await invite('a@b.example'),
      await invite('c@d.example'),
      await invite('e@f.example'),
    ]
    Object.assign(ids, { accepted: first.token, declined: second.token, withdrawnId: third.id })
    Object.assign(ids, { submissionId: sent?.id, productId: product?.id, jobId, mailId, smtpUrl })
  }
  const forgetWork = () =>
    created.group.store.database.write((db) => db.deleteFrom('jobs').where('kind', '=', 'media.derive').execute())
  /** An item unused for two days. */
  async function forgetFile(): Promise<void> {
    await ask('POST', `/manage/groups/${ids.groupId}/media`, fileForm('forgotten.png', forgotten))
    clock.now += 48 * 3600 * 1000
  }
  async function run(verb: Verb, given: object, keep?: string): Promise<Data> {
    if (verb.name === 'media sweep') await forgetFile()
    if (verb.name === 'site draft discard')
      await ask('PATCH', `/manage/groups/${ids.groupId}/sites/${ids.siteId}/draft`, { settings: { motto: canary } })
    if (verb.name === 'media derive') await forgetWork()
    clock.now += 2000
    const request = await requestOf(verb, { ...ids, ...given })
    const answer = await service.app.inject({
      ...request,
      remoteAddress: address,
      headers: { ...request.headers, authorization: `Bearer ${admin}` },
    })
    assert.ok(answer.statusCode < 300, `${verb.name}: ${answer.body}`)
    const { data } = answer.json()
    if (keep) ids[keep] = data._id
    secrets.push(...[data.key, data.token].filter((secret) => typeof secret === 'string'))
    if (verb.name === 'group create') await addForeign(data._id)
  }
  return { ...created, userId, ids, secrets, run }
}

onBothEngines('the audit log', (engine) => {
  it('records for every changing verb who did what, when and from where, without values or secrets', async () => {
    const { ask, run, ids, secrets, clock, userId } = await withScript(engine)
    const changing = verbs.filter(({ method }) => method !== 'GET')
    assert.deepEqual(script.map(([name]) => name).toSorted(), changing.map(({ name }) => name).toSorted())
    const entries: Data[] = []
    for (const [name, input, types, keep] of script) {
      const verb = changing.find((candidate) => candidate.name === name) as Verb
      await run(verb, input(ids), keep)
      const at = new Date(clock.now).toISOString()
      const isGone = !verb.inGroup || name === 'group delete'
      const { items } = await ask('GET', isGone ? '/manage/audit' : `/manage/groups/${ids.groupId}/audit`)
      const entries = items.filter((entry: Data) => entry.at === at && entry.what === recordName(verb))
      assert.deepEqual([...new Set(entries.map(({ type }: Data) => type))].toSorted().join(' '), types, name)
      for (const entry of entries)
        assert.deepEqual([entry.actorId, entry.actor, entry.from], [userId, 'The administrator', address], name)
      entries.push(...items)
    }
    const text = JSON.stringify(entries)
    assert.ok(secrets.length >= 5)
    for (const secret of [canary, ...secrets.map((one) => one.slice(14, 40))]) assert.ok(!text.includes(secret))
  })

  it('can be filtered by subject and by user, newest first, paged over both databases', async () => {
    const { does, post, group, clock } = await editingPosts(engine, schema)
    const list = (query = '') => does('GET', `/audit?${query}`)
    const { _id } = await post({ title: 'a' })
    for (let n = 0; n < 5; n += 1) {
      clock.now += 1000
      const token = n % 2 === 0 ? group.tokens.editor : group.tokens.owner
      await does('POST', `/objects/${_id}/${n % 2 === 0 ? 'archive' : 'restore'}`, undefined, token)
      clock.now += 1000
      await does('POST', '/rename', { name: `Name ${n}` })
    }
    const all = await list('limit=100')
    const moments = all.items.map(({ at }: Data) => at)
    assert.deepEqual(moments, moments.toSorted().toReversed())
    assert.deepEqual(all.items.slice(0, 3).map(({ what }: Data) => what), ['group.rename', 'object.archive', 'group.rename']) // biome-ignore format: short
    assert.equal(all.items.length, all.totalCount)
    const pages = []
    for (let skip = 0; skip < all.totalCount; skip += 3) pages.push(...(await list(`limit=3&skip=${skip}`)).items)
    assert.deepEqual(pages, all.items)
    const ofObject = await list(`subjectId=${_id}`)
    assert.deepEqual(ofObject.items, all.items.filter(({ subjectId }: Data) => subjectId === _id)) // biome-ignore format: short
    assert.equal(ofObject.totalCount, 2 + 5 + 2)
    const editorId = group.members.editor.user.id
    const byEditor = await list(`actorId=${editorId}`)
    assert.deepEqual(byEditor.items, all.items.filter(({ actorId }: Data) => actorId === editorId)) // biome-ignore format: short
    assert.equal((await list(`actorId=${editorId}&subjectId=${_id}`)).totalCount, 3)
    assert.deepEqual(await list('subjectId=unknown'), { items: [], totalCount: 0 })
  })

  it('has every entry on exactly one page, even when the clock was set back', async () => {
    const { does, post, clock } = await editingPosts(engine, schema)
    for (const [n, stepMs] of [5000, -3000, 1000, -7000, 2000].entries()) {
      clock.now += stepMs
      await post({ title: `${n}` })
      await does('POST', '/rename', { name: `Name ${n}` })
    }
    const { items, totalCount } = await does('GET', '/audit')
    const pages = []
    for (let skip = 0; skip < totalCount; skip += 1)
      pages.push(...(await does('GET', `/audit?limit=1&skip=${skip}`)).items)
    assert.deepEqual(pages, items)
    assert.equal(new Set(items.map((entry: Data) => JSON.stringify(entry))).size, totalCount)
  })

  it('records what became due by time, and nothing of other groups', async () => {
    const { does, post, ask, clock, newManagedGroup } = await editingPosts(engine, schema)
    const { _id } = await post({ title: 'a' }, { publishDate: new Date(clock.now + 1000).toISOString() })
    const other = await newManagedGroup()
    clock.now += 5000
    await does('GET', '/events')
    const [entry] = (await does('GET', '/audit')).items
    assert.deepEqual([entry.what, entry.type, entry.subjectId], ['schedule', 'content.published', _id])
    assert.deepEqual([entry.actor, entry.actorId, entry.from], ['schedule', null, ''])
    const { items } = await ask('GET', `/manage/groups/${other.groupId}/audit`)
    assert.ok(!JSON.stringify(items).includes(_id))
  })

  it('records nothing that was only read, was refused or changed nothing', async () => {
    const created = await editingPosts(engine, schema)
    const { does, send, call, post, posts, group, ask } = created
    const { _id } = await post({ title: 'a' })
    const { editor } = group.members
    const site = await does('POST', '/sites', { name: 'Site' })
    const before = [await does('GET', '/audit'), await ask('GET', '/manage/audit')]
    const nothing: [method: Method, path: string, body: object | undefined, status: number][] = [
      ['GET', `/objects/${_id}`, undefined, 200],
      ['GET', `/collections/${posts._id}/objects`, undefined, 200],
      ['PATCH', `/objects/${_id}`, { version: 9, objectValue: { title: 'b' } }, 409],
      ['PATCH', `/objects/${_id}`, { version: 1, objectValue: { nope: 'b' } }, 400],
      ['PATCH', `/objects/${_id}`, { version: 1, objectValue: { title: 'a' } }, 200],
      ['POST', `/objects/${_id}/publish`, undefined, 200],
      ['POST', '/objects/bulk', { action: 'archive', items: [{ objectId: _id }, { objectId: 'nope' }] }, 404],
      ['PATCH', `/sites/${site._id}`, { version: 1, name: 'Site' }, 200],
      ['DELETE', `/collections/${posts._id}`, undefined, 409],
      ['POST', `/collections/${posts._id}/schema`, { version: 1, schema, dryRun: true }, 200],
      ['POST', `/collections/${posts._id}/schema`, { version: 1, schema }, 200],
      ['POST', '/rename', { name: 'Test group' }, 200],
      ['POST', '/versionsKept', { versionsKept: 50 }, 200],
      ['POST', `/members/${editor.user.id}/role`, { role: 'editor' }, 200],
      ['POST', '/freeze', undefined, 403],
    ]
    for (const [method, path, body, status] of nothing)
      assert.equal((await send(method, path, body)).statusCode, status, `${method} ${path}`)
    const path = `/manage/groups/${group.groupId}/objects/${_id}/archive`
    assertRefused(await call('POST', path, undefined, group.tokens.viewer), 403, /needs the role editor/)
    assert.equal((await call('POST', path, undefined, null)).statusCode, 401)
    assert.deepEqual([await does('GET', '/audit'), await ask('GET', '/manage/audit')], before)
  })
})
