import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createCurrentFiles } from '../../src/media/current-files.ts'
import { Superseded } from '../../src/store/content/revisions.ts'
import { readMediaRevision } from '../../src/store/media/items.ts'
import { createItem, write } from '../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'

async function library(engine: TestEngine) {
  const { newGroup } = await harness(engine)
  const { group, store } = await newGroup()
  const key = `${group.id}/a.png`
  await createItem(store, key, testStartMs)
  const signer = { sign: (bucket: string, wanted: string) => `https://${bucket}/${wanted}`, keyOf: () => undefined }
  const { prepare } = createCurrentFiles({ signer, ttlSeconds: 60, clock: () => testStartMs })
  return {
    store,
    key,
    prepare: (...at: [{ nowMs: number; mediaRevision: number }?]) => prepare(store, 'b', [key], ...at),
    all: prepare,
  }
}

onBothEngines('current files', (engine) => {
  it('report when their URLs change: at the next window, or never if there are none', async () => {
    const { store, prepare, all } = await library(engine)
    const mediaRevision = await readMediaRevision(store)
    const untilAt = async (nowMs: number) => (await prepare({ nowMs, mediaRevision })).untilMs
    assert.equal(await untilAt(testStartMs), testStartMs + 30_000)
    assert.equal(await untilAt(testStartMs + 29_999), testStartMs + 30_000)
    assert.equal(await untilAt(testStartMs + 30_000), testStartMs + 60_000)
    assert.equal((await prepare()).untilMs, testStartMs + 30_000)
    assert.equal((await all(store, 'b', [])).untilMs, Number.POSITIVE_INFINITY)
  })

  it('are not mixed with content of another revision: a reader of an outdated one reads again', async () => {
    const { store, key, prepare } = await library(engine)
    const mediaRevision = await readMediaRevision(store)
    await write(store, testStartMs, async ({ bumpMediaRevision }) => bumpMediaRevision())
    await assert.rejects(prepare({ nowMs: testStartMs, mediaRevision }), Superseded)
    const { sign } = await prepare({ nowMs: testStartMs, mediaRevision: mediaRevision + 1 })
    assert.equal(sign(key)?.source, `https://b/${key}`)
  })
})
