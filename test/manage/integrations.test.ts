import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { Value } from 'typebox/value'
import { integrationShape } from '../../src/manage/integrations.ts'
import { listOf } from '../../src/manage/shapes.ts'
import { syncKind } from '../../src/payments/jobs.ts'
import { recordOrder } from '../../src/store/commerce/orders.ts'
import { secretFields } from '../../src/store/content/secrets.ts'
import { findPendingJobs } from '../../src/store/jobs/jobs.ts'
import { write } from '../helpers/authoring.ts'
import { assertUnchanged, dumpTables } from '../helpers/dump.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { createManaging, type ManagedGroup, type Managing, type Method, managing } from '../helpers/manage.ts'
import { newOrder } from '../helpers/orders.ts'

const keyOf = (account: string, mark = 'canary') => `sk_test_${account}_${mark}`

onBothEngines('payment accounts', (engine) => {
  let created: Managing
  let group: ManagedGroup
  let path: string

  before(async () => {
    created = await createManaging(engine)
  })
  after(() => created.close())

  /** A new group, and the path of its accounts. */
  async function open(): Promise<void> {
    group = await created.newManagedGroup()
    path = `/manage/groups/${group.groupId}/integrations`
  }

  const connect = (account: string, accountHandle = 'main') =>
    created.ask('POST', path, { type: 'stripe', accountHandle, secretKey: keyOf(account) })
  const products = async () =>
    (await created.ask('GET', `/manage/groups/${group.groupId}/integrations/stripe/products`)).items
  const run = () => created.service.worker.runDue()

  it('store a key only after testing it: for an invalid one nothing is stored', async () => {
    await open()
    await assertUnchanged(created.service.store, async () => {
      const answer = await created.call('POST', path, { type: 'stripe', secretKey: 'sk_live_wrong-canary' })
      assert.equal(answer.statusCode, 400)
      assert.equal(answer.json().code, 'ValidationError')
      assert.ok(!answer.body.includes('canary'))
    })
  })

  it('never show a secret again: in no answer, record, row or log', async () => {
    await open()
    const { _id } = await connect('hidden')
    await created.ask('PUT', `${path}/${_id}/webhookSecret`, { webhookSecret: 'whsec_hidden_canary' })
    await created.ask('PUT', `${path}/${_id}/secretKey`, { secretKey: keyOf('hidden', 'second-canary') })
    await run()
    const seen = [
      JSON.stringify(await created.ask('GET', path)),
      JSON.stringify(await created.ask('GET', `${path}/${_id}`)),
      JSON.stringify(await created.ask('GET', `/manage/groups/${group.groupId}/audit`)),
      JSON.stringify(await created.ask('GET', `/manage/groups/${group.groupId}/events`)),
      JSON.stringify(await created.ask('GET', `/manage/groups/${group.groupId}/jobs`)),
      (await dumpTables(created.service.store)).join('\n'),
      created.log(),
    ]
    for (const text of seen) assert.ok(!/sk_test_hidden|whsec_hidden|second-canary/.test(text))
    assert.deepEqual((await secretFields(group.store, _id)).sort(), ['secretKey', 'webhookSecret'])
  })

  it('are unique by account and by handle', async () => {
    await open()
    await connect('one')
    for (const [account, handle, message] of [
      ['one', 'other', /already connected as "main"/],
      ['two', 'main', /already a stripe account "main"/],
    ] as const)
      await assertUnchanged(created.service.store, async () => {
        const body = { type: 'stripe', accountHandle: handle, secretKey: keyOf(account) }
        const answer = await created.call('POST', path, body)
        assert.equal(answer.statusCode, 409)
        assert.match(answer.json().error, message)
      })
    const again = await created.call('POST', `${path}/sandbox`, { type: 'stripe', accountHandle: 'main' })
    assert.equal(again.statusCode, 409)
    assert.equal((await created.ask('GET', path)).totalCount, 1)
  })

  it('are connected by owners only, synchronised by editors, and seen by viewers', async () => {
    await open()
    const { _id } = await connect('roles')
    const { owner, editor, viewer } = group.tokens
    const status = async (token: string, method: Method, where: string, body?: object) =>
      (await created.call(method, where, body, token)).statusCode
    const body = { type: 'stripe', accountHandle: 'more', secretKey: keyOf('more') }
    assert.equal(await status(editor, 'POST', path, body), 403)
    assert.equal(await status(editor, 'DELETE', `${path}/${_id}`), 403)
    assert.equal(await status(viewer, 'POST', `${path}/${_id}/sync`), 403)
    assert.equal(await status(editor, 'POST', `${path}/${_id}/sync`), 200)
    assert.equal(await status(viewer, 'GET', `${path}/${_id}`), 200)
    assert.equal(await status(owner, 'POST', path, body), 201)
  })

  it('have the documented shape, alone and listed, before and after the first import', async () => {
    await open()
    const { _id } = await created.ask('POST', `${path}/sandbox`, { type: 'stripe' })
    for (let ran = 0; ran < 2; ran += 1) {
      assert.ok(Value.Check(integrationShape, await created.ask('GET', `${path}/${_id}`)))
      assert.ok(Value.Check(listOf(integrationShape), await created.ask('GET', path)))
      await run()
    }
    const { lastSync, progress, webhook } = await created.ask('GET', `${path}/${_id}`)
    assert.deepEqual([lastSync.products, lastSync.prices, lastSync.added, progress], [5, 6, 4, null])
    assert.equal(webhook, 'registered')
  })

  it('can be a sandbox with a product of each kind', async () => {
    await open()
    await created.ask('POST', `${path}/sandbox`, { type: 'stripe', accountHandle: 'try' })
    await run()
    const { items } = (await group.get('/tenant/integrationObjects?type=stripe')).json().data
    const shown = items.map(({ objectValue, usingVariant }: Record<string, Record<string, unknown>>) => [
      objectValue?.price,
      objectValue?.interval,
      usingVariant,
    ])
    assert.deepEqual(shown, [
      ['14.00', undefined, undefined],
      [{ Small: '24.00', Large: '26.00' }, undefined, { name: 'size', values: ['Small', 'Large'] }],
      [{ A3: '18.00', A2: '29.00' }, undefined, { name: 'format', values: ['A3', 'A2'] }],
      ['16.00', 'month', undefined],
    ])
  })

  it('are not synchronised twice while one synchronisation waits, and at once after a failed one', async () => {
    await open()
    const { _id } = await connect('queue')
    await created.ask('POST', `${path}/${_id}/sync`)
    await created.ask('POST', `${path}/${_id}/sync`)
    const [job, ...others] = await findPendingJobs(group.store, syncKind)
    assert.ok(job)
    assert.deepEqual(others, [])
    const later = { attempts: 2, due_ms: created.clock.now + 7_200_000, problem: 'away' }
    await group.store.database.write((db) => db.updateTable('jobs').set(later).where('id', '=', job.id).execute())
    await created.ask('POST', `${path}/${_id}/sync`)
    const [asked] = await findPendingJobs(group.store, syncKind)
    assert.deepEqual([asked?.id, asked?.dueMs, asked?.attempts], [job.id, created.clock.now, 0])
  })

  it('accept another key of the same account only', async () => {
    await open()
    const { _id } = await connect('rotated')
    const rotate = (secretKey: string) => created.call('PUT', `${path}/${_id}/secretKey`, { secretKey })
    await assertUnchanged(created.service.store, async () => {
      const other = await rotate(keyOf('stranger'))
      assert.equal(other.statusCode, 400)
      assert.match(other.json().error, /to another account \(acct_stranger\)/)
      assert.equal((await rotate('sk_live_wrong-canary')).statusCode, 400)
    })
    assert.equal((await rotate(keyOf('rotated', 'new'))).statusCode, 200)
    const taken = await created.service.payments.vault.read(group.store, _id, 'secretKey')
    assert.equal(taken, keyOf('rotated', 'new'))
  })

  it('have no webhook without a public address; a secret registered elsewhere can be set', async () => {
    await open()
    const { _id } = await connect('silent')
    const refused = await created.call('POST', `${path}/${_id}/webhook`)
    assert.equal(refused.statusCode, 400)
    assert.match(refused.json().error, /set PUBLIC_URL/)
    assert.equal((await created.ask('GET', `${path}/${_id}`)).webhook, 'none')
    const { webhook } = await created.ask('PUT', `${path}/${_id}/webhookSecret`, { webhookSecret: 'whsec_by_hand' })
    assert.equal(webhook, 'by hand')
  })

  it('lose their secrets at once, and then their products; orders stay, and so does what editors set', async () => {
    await open()
    const sandbox = { type: 'stripe', accountHandle: 'shop' }
    const { _id } = await created.ask('POST', `${path}/sandbox`, sandbox)
    await run()
    const [mug] = await products()
    const change = { version: mug.version, productType: 'Gift', publishDate: '2026-01-01T00:00:00.000Z' }
    await created.ask('PATCH', `/manage/groups/${group.groupId}/products/${mug._id}`, change)
    const order = newOrder({ accountHandle: 'shop' })
    await write(group.store, created.clock.now, (writer) => recordOrder(writer, order))
    await created.ask('DELETE', `${path}/${_id}`)
    assert.deepEqual(await secretFields(group.store, _id), [])
    assert.equal((await created.ask('GET', `${path}/${_id}`)).status, 'disconnecting')
    assert.equal((await created.call('POST', `${path}/sandbox`, sandbox)).statusCode, 409)
    const secret = { webhookSecret: 'whsec_too_late' }
    assert.equal((await created.call('PUT', `${path}/${_id}/webhookSecret`, secret)).statusCode, 409)
    await run()
    assert.equal((await created.call('GET', `${path}/${_id}`)).statusCode, 404)
    assert.equal((await created.ask('GET', `/manage/groups/${group.groupId}/orders`)).totalCount, 1)
    assert.deepEqual([...new Set((await products()).map(({ archived }: { archived: boolean }) => archived))], [true])
    const rows = (await dumpTables(created.service.store)).filter((line) => line.includes(_id))
    assert.deepEqual(rows.filter((line) => !/\.(changes|jobs|catalogue_objects) /.test(line)), [])

    await created.ask('POST', `${path}/sandbox`, sandbox)
    await run()
    const back = (await products()).find(({ _id: id }: { _id: string }) => id === mug._id)
    assert.deepEqual(
      [back.archived, back.objectValue.productType, back.publishDate],
      [false, 'Gift', '2026-01-01T00:00:00.000Z'],
    )
    assert.equal((await products()).length, 4)
  }) // biome-ignore format: a story reads better in few lines
})

onBothEngines('an account whose provider is unreachable', (engine) => {
  it('is not connected, and the answer advises to try again', async () => {
    const created = await managing(engine, { env: { STRIPE_URL: 'http://127.0.0.1:1' } })
    const { groupId } = await created.newManagedGroup()
    await assertUnchanged(created.service.store, async () => {
      const body = { type: 'stripe', secretKey: keyOf('away') }
      const answer = await created.call('POST', `/manage/groups/${groupId}/integrations`, body)
      assert.equal(answer.statusCode, 503)
      assert.ok(Number(answer.headers['retry-after']) >= 1)
      assert.ok(!answer.body.includes('canary'))
    })
  })
})

onBothEngines('an account of a service with a public address', (engine) => {
  it('has a webhook from the beginning; a new registration replaces the old one', async () => {
    const created = await managing(engine, { env: { PUBLIC_URL: 'https://shop.example' } })
    const { groupId, store } = await created.newManagedGroup()
    const path = `/manage/groups/${groupId}/integrations`
    const { _id, webhook } = await created.ask('POST', path, { type: 'stripe', secretKey: keyOf('registered') })
    assert.equal(webhook, 'registered')
    const secretOf = () => created.service.payments.vault.read(store, _id, 'webhookSecret')
    assert.match((await secretOf()) ?? '', /^whsec_1_/)
    await created.ask('POST', `${path}/${_id}/webhook`)
    assert.match((await secretOf()) ?? '', /^whsec_2_/)
    await created.ask('DELETE', `${path}/${_id}`)
    assert.deepEqual(
      created.stripe.asked.filter((call) => call.includes('webhook')),
      [
        'POST /v1/webhook_endpoints',
        'POST /v1/webhook_endpoints',
        'DELETE /v1/webhook_endpoints/we_1',
        'DELETE /v1/webhook_endpoints/we_2',
      ],
    )
  })
})
