import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  claimKey,
  completeClaim,
  findClaim,
  pruneIdempotencyKeys,
  releaseClaim,
} from '../../../src/store/content/idempotency.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine, testStartMs } from '../../helpers/harness.ts'

const dayMs = 24 * 3_600_000
const asked = (key: string, body: unknown = { a: 1 }, endpoint = 'one') => ({ endpoint, key, body })

async function open(engine: TestEngine) {
  const { newGroup } = await harness(engine)
  const group = await newGroup()
  const other = await newGroup()
  const rows = () => group.store.database.read.selectFrom('idempotency_keys').selectAll().execute()
  return { store: group.store, other: other.store, rows }
}

onBothEngines('a request under an Idempotency-Key', (engine) => {
  it('is started by the first caller; later callers continue the same request', async () => {
    const { store } = await open(engine)
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, number) =>
        write(store, testStartMs, (writer) => claimKey(writer, asked('k'), { number })),
      ),
    )
    assert.equal(new Set(claims.map(({ request }) => JSON.stringify(request))).size, 1)
    assert.equal(claims.filter(({ isNew }) => isNew).length, 1)
    assert.deepEqual(await findClaim(store, asked('k'), testStartMs), { ...claims[0], isNew: false })
  })

  it('is the same with its keys in any order, and different with any other value', async () => {
    const { store } = await open(engine)
    const body = { a: 1, b: [{ c: 2, d: null }, 'x'] }
    await write(store, testStartMs, (writer) => claimKey(writer, asked('k', body), {}))
    const same = { b: [{ d: null, c: 2 }, 'x'], a: 1 }
    assert.ok(await findClaim(store, asked('k', same), testStartMs))
    const others = [{ ...body, a: '1' }, { ...body, b: ['x', { c: 2, d: null }] }, { a: 1 }, { ...body, e: null }, null]
    for (const other of others)
      await assert.rejects(findClaim(store, asked('k', other), testStartMs), { code: 'IdempotencyMismatch' })
  })

  it('belongs to its group and endpoint', async () => {
    const { store, other } = await open(engine)
    await write(store, testStartMs, (writer) => claimKey(writer, asked('k'), {}))
    assert.equal(await findClaim(other, asked('k', { b: 2 }), testStartMs), undefined)
    assert.equal(await findClaim(store, asked('k', { b: 2 }, 'two'), testStartMs), undefined)
  })

  it('keeps its first answer', async () => {
    const { store } = await open(engine)
    await write(store, testStartMs, (writer) => claimKey(writer, asked('k'), { number: 1 }))
    for (const answer of ['first', 'second'])
      await write(store, testStartMs, (writer) => completeClaim(writer, asked('k'), { request: { number: 1 }, answer }))
    assert.deepEqual(await findClaim(store, asked('k'), testStartMs), {
      isNew: false,
      request: null, // recipients and purchases are not retained
      answer: 'first',
    })
  })

  it('is completed or released only by its current holder, and never released once answered', async () => {
    const { store } = await open(engine)
    const request = { number: 1 }
    await write(store, testStartMs, (writer) => claimKey(writer, asked('k'), request))
    await write(store, testStartMs, async (writer) => {
      await completeClaim(writer, asked('k'), { request: { number: 2 }, answer: 'wrong' })
      await releaseClaim(writer, asked('k'), { number: 2 })
    })
    assert.deepEqual(await findClaim(store, asked('k'), testStartMs), { isNew: false, request, answer: undefined })
    await write(store, testStartMs, (writer) => completeClaim(writer, asked('k'), { request, answer: 'right' }))
    await write(store, testStartMs, (writer) => releaseClaim(writer, asked('k'), request))
    assert.deepEqual(await findClaim(store, asked('k'), testStartMs), { isNew: false, request: null, answer: 'right' })
  })

  it('counts as new after 24 hours, also before it is deleted', async () => {
    const { store, rows } = await open(engine)
    await write(store, testStartMs, async (writer) => {
      await claimKey(writer, asked('k'), { number: 1 })
      await completeClaim(writer, asked('k'), { request: { number: 1 }, answer: 'old' })
    })
    assert.ok(await findClaim(store, asked('k'), testStartMs + dayMs - 1))
    assert.equal(await findClaim(store, asked('k', { b: 2 }), testStartMs + dayMs), undefined)
    const renewed = await write(store, testStartMs + dayMs, (writer) =>
      claimKey(writer, asked('k', { b: 2 }), { number: 2 }),
    )
    assert.deepEqual(renewed, { isNew: true, request: { number: 2 }, answer: undefined })
    assert.equal((await rows()).length, 1)
  })

  it('is deleted after it has expired, in any number', async () => {
    const { store, rows } = await open(engine)
    await write(store, testStartMs, async (writer) => {
      for (let number = 0; number < 1001; number += 1) await claimKey(writer, asked(`old ${number}`), {})
    })
    await write(store, testStartMs + 1, (writer) => claimKey(writer, asked('new'), {}))
    await pruneIdempotencyKeys(store.database, testStartMs + dayMs)
    assert.deepEqual(
      (await rows()).map(({ expires_ms }) => expires_ms),
      [testStartMs + 1 + dayMs],
    )
  })
})
