import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { after, before, describe, it } from 'node:test'
import { manageByCurl } from '../helpers/by-curl.ts'
import { startS3Server } from '../helpers/s3-server.ts'

/** `npm run prove -- media` sets more. */
const megabytes = Number(process.env.MEDIA_MEGABYTES ?? 200)
/** A server has 150 to 180 MB after a small file, to which parts of 16 MB and uncollected garbage are added. */
const mostMegabytes = 330
/** The heap limit: garbage does not count as memory in use, and a leak ends the process. */
const heapLimit = '--max-old-space-size=96'
const maxBytes = 'free=2GB,basic=2GB,pro=2GB,proplus=2GB'
const tellPeak = `data:text/javascript,process.on('exit',()=>console.error('peak='+process.resourceUsage().maxRSS))`

let folder: string
let video: string

/** The beginning of a video, and then bytes that differ at every offset. */
function* videoBytes(): Generator<Buffer> {
  yield Buffer.from('000000186674797069736f6d0000020069736f6d6d703431', 'hex')
  const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16))
  const zeros = Buffer.alloc(1024 ** 2)
  for (let count = 0; count < megabytes; count += 1) yield noise.update(zeros)
}

/** Reads into the same two buffers: a stream of so many chunks costs far more time. */
async function haveSameBytes(one: string, other: string): Promise<boolean> {
  await using left = await open(one)
  await using right = await open(other)
  if ((await left.stat()).size !== (await right.stat()).size) return false
  const [leftBuffer, rightBuffer] = [Buffer.alloc(1024 ** 2), Buffer.alloc(1024 ** 2)]
  for (;;) {
    const { bytesRead } = await left.read(leftBuffer)
    await right.read(rightBuffer, 0, bytesRead)
    if (!leftBuffer.subarray(0, bytesRead).equals(rightBuffer.subarray(0, bytesRead))) return false
    if (bytesRead === 0) return true
  }
}

/** Uploads the video to a separate server, downloads it, and returns the server's peak memory. */
async function measureRoundTrip(env: Record<string, string>): Promise<{ megabytes: number; seconds: number }> {
  const bakery = await manageByCurl({
    NODE_OPTIONS: `${heapLimit} --import=${tellPeak}`,
    MEDIA_MAX_BYTES: maxBytes,
    ...env,
  })
  try {
    const startedMs = performance.now()
    const { type, currentFile } = await bakery.upload(video)
    assert.equal(type, 'video')
    const back = join(folder, 'back.mp4')
    await bakery.curl('--fail', '-o', back, currentFile.source)
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10
    assert.ok(await haveSameBytes(back, video))
    await bakery.server.stop()
    const kilobytes = Number(/peak=(\d+)/.exec(bakery.server.output())?.[1])
    assert.ok(kilobytes > 0, bakery.server.output())
    return { megabytes: Math.round(kilobytes / 1024), seconds }
  } finally {
    await bakery.close()
  }
}

describe(`a video of ${megabytes} MB`, () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-big-files-'))
    video = join(folder, 'video.mp4')
    await pipeline(videoBytes, createWriteStream(video))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const stores = {
    'a folder': async () => ({ env: {}, stop: async () => {} }),
    'an S3 store': () => startS3Server(['media']),
  }
  for (const [store, start] of Object.entries(stores)) {
    it(`is uploaded by curl to ${store} and downloaded unchanged, with little memory of the server`, async (context) => {
      const { env, stop } = await start()
      try {
        const peak = await measureRoundTrip(env)
        context.diagnostic(`${store}: up and down in ${peak.seconds} s; the server had ${peak.megabytes} MB at most`)
        assert.ok(peak.megabytes < mostMegabytes, `it had ${peak.megabytes} MB`)
      } finally {
        await stop()
      }
    })
  }
})
