import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { findOrSeedDemo, seedDemo, writeDemoFile } from '../../src/demo/seed.ts'
import { listIntegrations } from '../../src/store/commerce/integrations.ts'
import { findCollection, findIntegration, updateContainer } from '../../src/store/content/containers.ts'
import { iterateObjects } from '../../src/store/content/objects.ts'
import { schemaText } from '../../src/store/content/stored-schema.ts'
import { findGroupById, openContentOf } from '../../src/store/control/groups.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { write } from '../helpers/authoring.ts'
import { type Harness, harness, onBothEngines } from '../helpers/harness.ts'

/** The product fields of version 0.3. */
const oldSchema = {
  name: { type: 'variant', of: { type: 'text', maxLength: 120 }, required: true },
  price: { type: 'variant', of: { type: 'decimal', min: 0 }, required: true },
  description: { type: 'variant', of: { type: 'text', maxLength: 1000 } },
  productImage: { type: 'variant', of: { type: 'image' } },
  default_price: { type: 'variant', of: { type: 'text', maxLength: 120 }, required: true, searchable: false },
  productType: { type: 'enum', values: ['Bread', 'Pastry', 'Cake', 'Coffee', 'Gift'], searchable: false },
  currency: { type: 'text', maxLength: 3, searchable: false },
  variantName: { type: 'text', private: true, maxLength: 40 },
}

const commerceTables = [
  'secrets', 'integrations', 'catalogue_products', 'catalogue_prices', 'catalogue_objects', 'sandbox_objects', 'jobs',
] as const // biome-ignore format: a list

/** Converts a demo to version 0.3: products of an unconnected account. */
async function makeOld({ service }: Harness, { groupId, database }: GroupStore): Promise<void> {
  await service.store.control.write((db) => db.deleteFrom('integration_places').execute())
  await database.write(async (db) => {
    for (const table of commerceTables) await db.deleteFrom(table).where('group_id', '=', groupId).execute()
    await db
      .updateTable('containers')
      .set({ schema: schemaText(parseSchema(oldSchema)) })
      .where('kind', '=', 'integration')
      .execute()
  })
}

async function productsOf(group: GroupStore) {
  const shop = await findIntegration(group, 'stripe')
  const products = await Array.fromAsync(iterateObjects(group, shop?.id ?? ''))
  return products.map(({ id, externalId, archived, value: { name, price, productImage, productType } }) => ({
    id,
    externalId,
    archived,
    value: { name, price, productImage, productType },
  }))
}

onBothEngines('a demo of version 0.4', (engine) => {
  it('accepts reviews and subscribers from the next start on, except where a user has changed the collections', async () => {
    const { service, clock, config, app } = await harness(engine)
    const deps = { ...service, clock: () => clock.now }
    const demo = await seedDemo(deps)
    const { Reviews = '', Subscribers = '' } = demo.collections
    await writeDemoFile(config.dataDir, { baseUrl: 'http://127.0.0.1', ...demo })
    const group = await openContentOf(service.store, await findGroupById(service.store, demo.groupId))
    await group.database.write((db) => db.updateTable('containers').set({ settings: '{}' }).execute())
    const send = async (collectionId: string, type: string, objectValue: object) => {
      const headers = { authorization: demo.apiKey }
      const payload = { collectionId, type, objectValue }
      return (await app.inject({ method: 'POST', url: '/tenant/definedCollectionObject', headers, payload })).statusCode
    }
    const review = { rating: 5, body: 'Good bread', author: 'Ada' }
    assert.equal(await send(Reviews, 'createReview', review), 400)
    const start = () => findOrSeedDemo(deps, config.dataDir, () => assert.fail('it is there'))
    await start()
    assert.equal(await send(Reviews, 'createReview', review), 201)
    assert.equal(await send(Subscribers, 'subscribeUser', { email: 'ada@visitor.example' }), 201)
    await write(group, clock.now, async (writer) => {
      const collection = await findCollection(writer.group, Reviews)
      assert.equal(collection?.version, 2)
      await updateContainer(writer, collection, { settings: {} })
    })
    await start()
    assert.equal(await send(Reviews, 'createReview', review), 400)
  })
})

onBothEngines('a demo of version 0.3', (engine) => {
  it('gets a sandbox account that sells its products; they keep their ids and images, and a second start changes nothing', async () => {
    const created = await harness(engine)
    const { service, clock, config, app } = created
    const deps = { ...service, clock: () => clock.now }
    const demo = await seedDemo(deps)
    await writeDemoFile(config.dataDir, { baseUrl: 'http://127.0.0.1', ...demo })
    const group = await openContentOf(service.store, await findGroupById(service.store, demo.groupId))
    const before = await productsOf(group)
    await makeOld(created, group)

    const found = await findOrSeedDemo(deps, config.dataDir, () => assert.fail('it is there'))
    assert.equal(found?.groupId, demo.groupId)
    assert.deepEqual(await productsOf(group), before)
    assert.ok(before.every(({ value }) => value.productImage !== undefined))
    const [account, ...others] = await listIntegrations(group)
    assert.deepEqual([account?.accountHandle, account?.sandbox, others.length], ['demo', true, 0])

    const sold = await app.inject({
      method: 'POST',
      url: '/tenant/createCheckoutSession',
      headers: { authorization: demo.apiKey },
      payload: {
        products: [{ price: demo.priceIds[0], quantity: 1 }],
        requiresShipping: false,
        originUrl: 'https://demo.example',
      },
    })
    assert.equal(sold.statusCode, 200, sold.body)
    await findOrSeedDemo(deps, config.dataDir, () => assert.fail('it is there'))
    assert.equal((await listIntegrations(group)).length, 1)
    assert.deepEqual(await productsOf(group), before)
  })
})
