import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DistantShop, distantShop, manyProducts } from '../helpers/distant-shop.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import { type ServerProcess, startServer } from '../helpers/process.ts'
import { assertMirrored } from './assert-mirrored.ts'

/** `npm run prove -- catalogue` sets more. */
const productCount = Number(process.env.CATALOGUE_PRODUCTS ?? 120)
const kills = Number(process.env.IMPORT_KILLS ?? 1)
const pageSize = 100
const checkEveryMs = 100
/** The heap limit of the process. */
const mostHeap = '--max-old-space-size=96'

/** Whether the call is part of a synchronisation, not a lookup of one product. */
const isPage = (call: string): boolean => /^GET \/v1\/(prices|products)\?/.test(call) && !call.includes('product=')

/** Kills the server at its request for a page, before the answer. */
async function killAt({ proxy }: DistantShop, { child }: ServerProcess, pages: string[], wanted: number) {
  const ended = once(child, 'close')
  proxy.chooseFault = (call) => {
    if (!isPage(call)) return undefined
    pages.push(call)
    if (pages.length < wanted) return undefined
    child.kill('SIGKILL')
    return 'silentAfter'
  }
  await ended
}

/** Ends the lease now, as no process renews it. */
async function endLeases({ group }: DistantShop): Promise<void> {
  await group.store.database.write((db) =>
    db.updateTable('jobs').set({ due_ms: 0 }).where('state', '=', 'running').execute(),
  )
}

/** The peak memory of a process, if the system reports it. */
async function peakMegabytes({ child }: ServerProcess): Promise<number | undefined> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(status) ?? []
  return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024)
}

onBothEnginesInProve(`a catalogue of ${productCount.toLocaleString('en')} products that is imported`, (engine) => {
  it('continues after kill -9 where it stopped, requests no stored page again, and shows its progress', async (context) => {
    const distant = await distantShop(engine)
    const { shop, group, env, seed, connect, proxy, provider } = distant
    shop.clock.now = Date.now() // like the real server's
    const catalogue = manyProducts(productCount)
    seed(catalogue)
    const integration = `/manage/groups/${group.groupId}/integrations/${await connect()}`
    const priceCount = catalogue.flatMap(({ prices }) => prices).length
    const pageCount = Math.ceil(priceCount / pageSize) + Math.ceil(productCount / pageSize)
    const pages: string[] = []
    const looks: number[] = []
    const look = async () => {
      const { progress, lastSync } = await shop.ask('GET', integration)
      if (progress) looks.push(progress.prices + progress.products)
      return lastSync
    }

    for (let kill = 1; kill <= kills; kill += 1) {
      const server = await startServer({ ...env, NODE_OPTIONS: mostHeap })
      const wanted = Math.floor((kill * (pageCount + kills)) / (kills + 1))
      await killAt(distant, server, pages, wanted)
      assert.equal(await look(), null, 'it is not finished')
      assert.ok((looks.at(-1) ?? 0) > (looks.at(-2) ?? 0), 'and has made progress')
      await endLeases(distant)
    }

    proxy.chooseFault = (call) => {
      if (isPage(call)) pages.push(call)
      return undefined
    }
    const startedMs = performance.now()
    const server = await startServer({ ...env, NODE_OPTIONS: mostHeap })
    let report = await look()
    for (; !report; report = await look()) {
      assert.equal(server.child.exitCode, null, server.output())
      await sleep(checkEveryMs)
    }
    const seconds = (performance.now() - startedMs) / 1000
    const megabytes = await peakMegabytes(server)
    await server.stop()

    assert.deepEqual([report.products, report.prices, report.archived], [productCount, priceCount, 0])
    assert.deepEqual(looks, looks.toSorted((one, other) => one - other), 'it never went back') // biome-ignore format: short
    assert.equal(new Set(pages).size, pageCount, 'each page was requested')
    assert.equal(pages.length, pageCount + kills, 'only the page in progress was requested again')
    const mirrored = await assertMirrored(group, provider)
    assert.equal(report.added, mirrored)
    context.diagnostic(
      `${engine}: ${productCount} products with ${priceCount} prices became ${mirrored} of ours; ${pageCount} pages, ` +
        `${kills} kills, ${pages.length} requests; ${new Set(looks).size} states of progress seen; the last process ` +
        `took ${seconds.toFixed(1)} s with its start, ${megabytes ?? 'an unknown number of'} MB at most`,
    )
  })
})
