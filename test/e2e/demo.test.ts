import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { createClient } from '../../client/src/index.ts'
import { createEmptyPlace, onBothEngines } from '../helpers/harness.ts'
import { startServer } from '../helpers/process.ts'

const pngSignature = '89504e470d0a1a0a'

onBothEngines('npm start on an empty data folder', (engine) => {
  it('serves a whole bakery through the client, and the same one after a restart', async () => {
    const place = await createEmptyPlace(engine)
    let server = await startServer(place.env, ['--demo'])
    after(async () => {
      await server.stop()
      await place.remove()
    })
    const demoFile = join(place.env.DATA_DIR, 'demo.json')
    const demo = JSON.parse(await readFile(demoFile, 'utf8'))
    assert.equal((await stat(demoFile)).mode & 0o777, 0o600)
    assert.equal(demo.baseUrl, server.baseUrl)
    assert.ok(server.output().includes(demo.apiKey) && server.output().includes('curl -H'))
    const client = createClient({ baseUrl: demo.baseUrl, apiKey: demo.apiKey })

    const site = await client.site.details(demo.siteId)
    assert.equal(site.name, 'Demo Bakery')
    for (const picture of [site.logo, site.heroImage]) {
      const answer = await fetch(picture?.currentFile.source ?? '')
      assert.equal(answer.headers.get('content-type'), 'image/png')
      assert.equal(
        Buffer.from(await answer.arrayBuffer())
          .subarray(0, 8)
          .toString('hex'),
        pngSignature,
      )
    }
    for (const page of site.pages ?? []) {
      for (const { collectionId } of page.collections)
        assert.ok(Object.values(demo.collections).includes(collectionId), page.name)
    }

    const totals: Record<string, number> = {}
    for (const [name, id] of Object.entries<string>(demo.collections))
      totals[name] = (await client.collections.list(id)).totalCount
    assert.deepEqual(totals, { Blog: 10, Team: 5, Reviews: 8, FAQ: 8, Subscribers: 3 }) // of 12 posts one is a draft, one archived

    const products = await client.products.list({ type: 'stripe' })
    assert.equal(products.totalCount, 8)
    assert.equal(products.items.filter((product) => product.usingVariant).length, 2)
    const prices = products.items.flatMap(({ objectValue: { default_price: price } }) =>
      typeof price === 'string' ? [price] : Object.values(price),
    )
    assert.deepEqual(prices, demo.priceIds)

    const draft = await client.preview(demo.previewToken)
    assert.ok(Date.parse(draft.publishDate ?? '') > Date.now())

    assert.equal(await server.stop(), 0)
    server = await startServer(place.env, ['--demo'])
    const again = createClient({ baseUrl: server.baseUrl, apiKey: demo.apiKey })
    assert.equal((await again.products.list({ type: 'stripe' })).totalCount, 8)
    assert.equal(JSON.parse(await readFile(demoFile, 'utf8')).groupId, demo.groupId)
  })
})
