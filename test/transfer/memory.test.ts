import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { createEmptyDatabase, createHarness, engines, type Harness } from '../helpers/harness.ts'
import { programEnv } from '../helpers/process.ts'
import { newPath } from './exports.ts'

/** `npm run prove -- transfer` runs 100,000. */
const isHeavy = process.env.TRANSFER_OBJECTS !== undefined
const objectCount = Number(process.env.TRANSFER_OBJECTS ?? 1200)
/** The process starts at about 110 MB; in the heavy form the objects alone are 200 MB. */
const mostMegabytes = 300
/** The heap limit: garbage does not count as memory in use, and a leak ends the process. */
const limits = ['--max-old-space-size=80']
const main = join(import.meta.dirname, '../../src/main.ts')
const tellPeak = `data:text/javascript,process.on('exit',()=>console.error('peak='+process.resourceUsage().maxRSS))`

interface Measured {
  megabytes: number
  seconds: number
}

/** Runs a command of the real program, and returns its peak memory. */
async function measure(env: Record<string, string>, ...args: string[]): Promise<Measured> {
  const startedMs = performance.now()
  const { stderr } = await promisify(execFile)(process.execPath, [...limits, '--import', tellPeak, main, ...args], {
    env: { ...programEnv, LOG_LEVEL: 'silent', ...env },
  })
  const kilobytes = Number(/peak=(\d+)/.exec(stderr)?.[1])
  assert.ok(kilobytes > 0, stderr)
  return { megabytes: Math.round(kilobytes / 1024), seconds: Math.round((performance.now() - startedMs) / 100) / 10 }
}

const schema = {
  title: { type: 'text' },
  slug: { type: 'slug' },
  rank: { type: 'integer' },
  tags: { type: 'list', of: { type: 'text' } },
  body: { type: 'longText' },
}

async function fill({ newGroup }: Harness): Promise<void> {
  const group = await newGroup({ name: 'Shop' })
  const posts = await group.collection('Posts', schema)
  const sentence = 'A sentence of some words that stands for what people write. '
  for (let start = 0; start < objectCount; start += 1000) {
    const numbers = Array.from({ length: Math.min(1000, objectCount - start) }, (_, n) => start + n)
    const inputs = numbers.map((rank) => ({
      value: {
        title: `Post ${rank}`,
        slug: `post-${rank}`,
        rank,
        tags: ['a', `b${rank % 10}`],
        body: sentence.repeat(31),
      },
    }))
    await group.add(posts, ...inputs)
  }
}

/** Changes the title of every object of an export. */
async function editAll(folder: string): Promise<void> {
  const file = join(folder, 'group.ndjson')
  const replace = async function* (lines: AsyncIterable<string>) {
    for await (const line of lines) yield `${line.replace('"title":"Post', '"title":"Page')}\n`
  }
  await pipeline(createInterface(createReadStream(file)), replace, createWriteStream(`${file}.edited`))
  renameSync(`${file}.edited`, file)
}

const envOf = ({ config }: Harness) => ({ DATA_DIR: config.dataDir, DATABASE_URL: config.databaseUrl ?? '' })

describe(`${objectCount.toLocaleString('en')} objects of 2 KB`, () => {
  for (const engine of isHeavy ? engines : (['sqlite'] as const)) {
    it(`are exported and imported with little memory, on ${engine}`, async (context) => {
      const source = await createHarness(engine)
      const testDatabase = await createEmptyDatabase(engine)
      after(async () => {
        await source.close()
        await testDatabase.remove()
      })
      await fill(source)
      const folder = newPath()
      const show = async (what: string, env: Record<string, string>, ...args: string[]): Promise<void> => {
        const { megabytes, seconds } = await measure(env, ...args)
        context.diagnostic(`${engine}: ${what}: ${megabytes} MB at most, ${seconds} s`)
        assert.ok(megabytes < mostMegabytes, `${what} took ${megabytes} MB`)
      }
      await show('export', envOf(source), 'export', 'group', 'Shop', folder)
      const { size } = statSync(join(folder, 'group.ndjson'))
      context.diagnostic(`${engine}: group.ndjson has ${Math.round(size / 1024 / 1024)} MB`)
      await show('import of a new group', testDatabase.env, 'import', 'group', folder)
      if (isHeavy) await show('the same again', testDatabase.env, 'import', 'group', folder)
      await editAll(folder)
      await show(
        'import that changes every object',
        testDatabase.env,
        'import',
        'group',
        folder,
        '--edited',
        '--into',
        'Shop',
      )
    })
  }
})
