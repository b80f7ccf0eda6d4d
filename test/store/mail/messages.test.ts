import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  deliverKind,
  endMessage,
  findMessage,
  insertMessage,
  listLatestMessages,
  listMessages,
  type NewMessage,
  pruneMessages,
  restartMessage,
} from '../../../src/store/mail/messages.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine, testStartMs } from '../../helpers/harness.ts'
import { letter, putMessage } from '../../helpers/outbox.ts'

const dayMs = 86_400_000

async function open(engine: TestEngine) {
  const { service, newGroup } = await harness(engine)
  const { store: group } = await newGroup()
  const { store: other } = await newGroup()
  const put = (more: Partial<NewMessage> = {}, to = group) => putMessage(to, testStartMs, more)
  const jobs = () => group.database.read.selectFrom('jobs').selectAll().where('kind', '=', deliverKind).execute()
  return { store: service.store, group, other, put, jobs }
}

onBothEngines('a message in the outbox', (engine) => {
  it('is stored together with its delivery job, or not at all', async () => {
    const { group, put, jobs } = await open(engine)
    const id = await put()
    const [job] = await jobs()
    assert.deepEqual(JSON.parse(job?.payload ?? ''), { mailId: id })
    const { messageId, state, attempts, dueMs, isUnderWay } = (await findMessage(group, id)) ?? {}
    assert.deepEqual(
      [messageId, state, attempts, dueMs, isUnderWay],
      [`${id}@mail.example`, 'waiting', 0, testStartMs, false],
    )
    const failing = write(group, testStartMs, async (writer) => {
      await insertMessage(writer, letter())
      throw new Error('no')
    })
    await assert.rejects(failing, /no/)
    assert.equal((await jobs()).length, 1)
    assert.equal((await listMessages(group, { limit: 10, skip: 0 })).totalCount, 1)
  })

  it('is visible to its own group only', async () => {
    const { group, other, put } = await open(engine)
    const id = await put()
    assert.equal(await findMessage(other, id), undefined)
    assert.deepEqual(await listMessages(other, { limit: 10, skip: 0 }), { messages: [], totalCount: 0 })
    assert.equal(await write(other, testStartMs, (writer) => endMessage(writer, id, 'cancelled')), false)
    assert.equal((await findMessage(group, id))?.state, 'waiting')
  })

  it('is found by state, kind and recipient, newest first', async () => {
    const { store, group, other, put } = await open(engine)
    const first = await put()
    const second = await put({ kind: 'order', recipient: 'Ann@xn--bcher-kva.example' })
    const foreign = await put({}, other)
    await write(group, testStartMs, (writer) => endMessage(writer, first, 'failed', '550 no'))
    const ids = async (query: object) =>
      (await listMessages(group, { limit: 10, skip: 0, ...query })).messages.map(({ id }) => id)
    const newestFirst = (...some: string[]) => some.sort().reverse()
    assert.deepEqual(await ids({}), newestFirst(first, second))
    assert.deepEqual(await ids({ state: 'failed' }), [first])
    assert.deepEqual(await ids({ kind: 'order' }), [second])
    for (const recipient of ['Ann@xn--bcher-kva.example', 'ANN@Bücher.example', 'ann@XN--bcher-kva.example'])
      assert.deepEqual(await ids({ recipient }), [second])
    assert.deepEqual(await ids({ recipient: 'ann' }), [])
    assert.deepEqual(await ids({ limit: 1, skip: 1 }), newestFirst(first, second).slice(1))
    const latest = await listLatestMessages(store, 2)
    assert.deepEqual(
      latest.map(({ id }) => id),
      newestFirst(first, second, foreign).slice(0, 2),
    )
  })

  it('has one final state: a sent one does not fail later, and a cancelled one is not sent', async () => {
    const { group, put } = await open(engine)
    for (const [ending, later] of [
      ['sent', 'failed'],
      ['sent', 'cancelled'],
      ['cancelled', 'sent'],
      ['failed', 'sent'],
    ] as const) {
      const id = await put()
      assert.equal(await write(group, testStartMs, (writer) => endMessage(writer, id, ending)), true)
      assert.equal(await write(group, testStartMs, (writer) => endMessage(writer, id, later)), false)
      assert.equal((await findMessage(group, id))?.state, ending)
    }
  })

  it('can be restarted, under the same Message-ID and with a new job', async () => {
    const { group, put, jobs } = await open(engine)
    const id = await put()
    const before = await findMessage(group, id)
    await write(group, testStartMs, (writer) => endMessage(writer, id, 'failed', '550 no'))
    await write(group, testStartMs + 1, (writer) => restartMessage(writer, id))
    const after = await findMessage(group, id)
    assert.equal((await jobs()).length, 2)
    assert.deepEqual([after?.state, after?.problem, after?.dueMs], ['waiting', null, testStartMs + 1])
    assert.equal(after?.messageId, before?.messageId)
  })

  it('is deleted 30 days after it was sent, 90 after it failed, and never while it waits', async () => {
    const { group, put } = await open(engine)
    const [waits, sent, failed] = [await put(), await put(), await put()]
    await write(group, testStartMs, async (writer) => {
      await endMessage(writer, sent, 'sent')
      await endMessage(writer, failed, 'failed', 'no')
    })
    const deleted: string[] = []
    const prune = (days: number) =>
      pruneMessages(group.database, testStartMs + days * dayMs, async ({ groupId, id }) => {
        deleted.push(`${groupId} ${id}`)
      })
    await prune(30)
    assert.deepEqual(deleted, [])
    await prune(30.1)
    assert.deepEqual(deleted, [`${group.groupId} ${sent}`])
    await prune(1000)
    assert.deepEqual(deleted.slice(1), [`${group.groupId} ${failed}`])
    assert.ok(await findMessage(group, waits))
  })

  it('is deleted only after its copy, so that a failed removal is retried', async () => {
    const { group, put } = await open(engine)
    const id = await put()
    await write(group, testStartMs, (writer) => endMessage(writer, id, 'sent'))
    const prune = (removeCopy: () => Promise<void>) =>
      pruneMessages(group.database, testStartMs + 31 * dayMs, removeCopy)
    await assert.rejects(prune(() => Promise.reject(new Error('The disk is unreachable.'))))
    assert.ok(await findMessage(group, id))
    await prune(async () => {})
    assert.equal(await findMessage(group, id), undefined)
  })

  it('that is sent again during pruning is retained', async () => {
    const { group, put } = await open(engine)
    const id = await put()
    await write(group, testStartMs, (writer) => endMessage(writer, id, 'failed', 'no'))
    await pruneMessages(group.database, testStartMs + 91 * dayMs, async () => {
      await write(group, testStartMs, (writer) => restartMessage(writer, id))
    })
    assert.equal((await findMessage(group, id))?.state, 'waiting')
  })
})
