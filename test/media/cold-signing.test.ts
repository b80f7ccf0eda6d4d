import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createCurrentFiles } from '../../src/media/current-files.ts'
import type { MediaSigner } from '../../src/media/signer.ts'
import { harness } from '../helpers/harness.ts'

/** As slow as RSA on a small machine. */
function createSlowSigner(signed: string[]): MediaSigner {
  return {
    sign(_bucketName, key) {
      const endsMs = performance.now() + 5
      while (performance.now() < endsMs);
      signed.push(key)
      return `https://cdn.example.com/${key}`
    },
    keyOf: () => undefined,
  }
}

it('a page of URLs that are slow to sign does not delay other requests', async () => {
  const { newGroup } = await harness('sqlite')
  const { group, store } = await newGroup()
  const signed: string[] = []
  const { prepare } = createCurrentFiles({ signer: createSlowSigner(signed), ttlSeconds: 60, clock: () => 0 })
  const keys = Array.from({ length: 40 }, (_, number) => `${group.id}/${number}.jpg`)
  let signedBetween = 0
  const other = setInterval(() => {
    if (signedBetween === 0) signedBetween = signed.length
  })
  const { sign } = await prepare(store, group.bucketName, keys)
  clearInterval(other)
  assert.ok(signedBetween > 0 && signedBetween < 20, `the first other one came after ${signedBetween} of 40`)
  assert.deepEqual(
    keys.map((key) => sign(key)?.source),
    keys.map((key) => `https://cdn.example.com/${key}`),
  )
})
