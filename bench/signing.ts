import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../src/config/config.ts'
import type { Signing } from '../src/media/current-files.ts'
import { createService, type Service } from '../src/service.ts'
import { table } from './markdown.ts'
import { createMediaPage } from './media-page.ts'
import type { Finding } from './part.ts'
import { cacheOff } from './servers.ts'
import { median, shuffled, spread } from './statistics.ts'

const rounds = 7
const pagesInRound = 100
/** Half of the default lifetime of a signed URL. */
const windowMs = 12 * 3_600_000

const pem = { type: 'pkcs8', format: 'pem' } as const
const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pem)
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export(pem)
const s3 = { MEDIA_URL: 's3://s3.example.com', MEDIA_ACCESS_KEY_ID: 'AKIAEXAMPLE', MEDIA_SECRET_ACCESS_KEY: 'secret' }
const cdn = { ...s3, MEDIA_CDN_URL: 'https://cdn.example.com', MEDIA_CDN_KEY_ID: 'K2JCJMDEHXQW5F' }

const methods: Record<string, () => Record<string, string>> = {
  'local, HMAC': () => ({}),
  'S3, SigV4': () => s3,
  'CloudFront, RSA 2048': () => ({ ...cdn, MEDIA_CDN_PRIVATE_KEY: rsa().toString() }),
  'CloudFront, P-256': () => ({ ...cdn, MEDIA_CDN_PRIVATE_KEY: p256().toString() }),
}

/** Times of the page in one signing window: signed for the first time, signed from the cache, and not signed. */
interface Round {
  coldMs: number
  warmMs: number[]
  unsignedMs: number[]
}

interface Contender {
  name: string
  service: Service
  signing: { isOn: boolean }
  pageBytes: number
  rounds: Round[]
}

/**
 * Off, it returns the signatures of the last page. The page is then identical, and the difference in time is the cost of
 * looking files up and signing them.
 */
function addSwitch({ media: { currentFiles } }: Service): { isOn: boolean } {
  const { prepare } = currentFiles
  const signing = { isOn: true }
  let last: Signing | undefined
  currentFiles.prepare = async (...call) => {
    if (signing.isOn || !last) last = await prepare(...call)
    return last
  }
  return signing
}

export async function benchSigning(): Promise<Finding> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const clock = { now: Date.UTC(2026, 0, 1) }
  const rates = 'anonymous=1000000/1000000,free=1000000/1000000,basic=1/1,pro=1/1,proplus=1/1'
  const open = (env: Record<string, string>): Promise<Service> =>
    createService(readConfig({ DATA_DIR: dataDir, LOG_LEVEL: 'silent', RATE_LIMITS: rates, ...cacheOff, ...env }), {
      clock: () => clock.now,
    })

  const contenders: Contender[] = []
  for (const [name, settings] of Object.entries(methods)) {
    const service = await open(settings())
    contenders.push({ name, service, signing: addSwitch(service), pageBytes: 0, rounds: [] })
  }
  try {
    const [first] = contenders
    if (!first) throw new Error('There is nothing to measure.')
    const page = await createMediaPage(first.service, clock.now)

    const ask = async ({ service, signing }: Contender, isSigned = true, more = '') => {
      signing.isOn = isSigned
      const request = { url: page.path + more, headers: page.headers }
      const before = process.cpuUsage()
      let answer = await service.app.inject(request)
      while (answer.statusCode === 503) answer = await service.app.inject(request) // it exceeded the time limit, and continues in the background
      const { user, system } = process.cpuUsage(before)
      if (answer.statusCode !== 200) throw new Error(answer.body)
      return { ms: (user + system) / 1000, bytes: answer.rawPayload.length }
    }

    for (let round = 0; round < rounds; round += 1) {
      clock.now += windowMs
      for (const contender of contenders) {
        await ask(contender, true, '&skip=1000') // caches the API key again
        const { ms, bytes } = await ask(contender)
        contender.pageBytes = bytes
        contender.rounds.push({ coldMs: ms, warmMs: [], unsignedMs: [] })
      }
      const tasks = contenders.flatMap((contender) => {
        const { warmMs = [], unsignedMs = [] } = contender.rounds.at(-1) ?? {}
        return [
          async () => warmMs.push((await ask(contender)).ms),
          async () => unsignedMs.push((await ask(contender, false)).ms),
        ]
      })
      // In a fixed order the same one would always pay for the garbage collection of all.
      for (let count = 0; count < pagesInRound; count += 1) for (const task of shuffled(tasks)) await task()
    }
    return report(contenders, page.addressCount)
  } finally {
    for (const { service } of contenders) await service.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

const inMs = (value: number): string => value.toFixed(value < 10 ? 2 : 1)
const inPercent = (value: number): string => `${(value * 100).toFixed(1)} %`

function report(contenders: readonly Contender[], addressCount: number): Finding {
  const rows = contenders.map(({ name, pageBytes, rounds }) => {
    const coldMs = rounds.map((round) => round.coldMs)
    const warmMs = rounds.map((round) => median(round.warmMs))
    const unsignedMs = rounds.map((round) => median(round.unsignedMs))
    const added = warmMs.map((ms, round) => ms / (unsignedMs[round] ?? Number.NaN) - 1)
    const coldAdds = median(coldMs) - median(unsignedMs)
    return [
      name,
      `${Math.round(pageBytes / 1024)} KB`,
      spread(unsignedMs, inMs),
      spread(warmMs, inMs),
      spread(added, inPercent),
      spread(coldMs, inMs),
      `${inMs(coldAdds)}, ${inPercent(coldAdds / median(coldMs))}`,
    ]
  })
  const head = ['method', 'page', 'not signed', 'warm', 'warm adds', 'cold', 'cold adds, of the whole']
  return {
    about: `A page of 100 objects with three pictures each, ${addressCount.toLocaleString('en')} addresses, through \`GET /tenant/collectionObjects\`
on SQLite, in ${rounds} rounds. A round is a new window of signatures: the first page finds nothing in memory (cold), ${pagesInRound} pages
find everything (warm), among as many with the same text for which nothing is looked up or signed, in random order.
Milliseconds of the processor, so that neighbours on the machine do not count: the median of the rounds, and between
which values half of them lie. There is no network between (\`inject\`): it would make pages dearer, and the share of signing smaller.`,
    tables: table(head, rows),
  }
}
