import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CataloguePrice, type CatalogueProduct, objectKeyOf } from '../../../src/content/catalogue.ts'
import { projectProduct } from '../../../src/content/products.ts'
import type { FakeProvider } from '../../helpers/fake-provider.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { randomFrom, shuffledEvents } from '../../helpers/shuffled-events.ts'
import { gate } from '../../jobs/workshop.ts'
import { type Shop, shop } from './shop.ts'

/** `npm run prove -- catalogue` makes more changes. */
const isProof = process.env.PROVE === '1'

const byId = <Item extends { id: string }>(items: Iterable<Item>): Item[] =>
  [...items].toSorted((one, other) => (one.id < other.id ? -1 : 1))

/** Asserts that the mirror equals the catalogue, and that our products follow from it. */
async function assertMirrors({ group, provider, objects }: Shop): Promise<void> {
  const { read } = group.store.database
  const rows = {
    products: await read.selectFrom('catalogue_products').select('data').execute(),
    prices: await read.selectFrom('catalogue_prices').select('data').execute(),
  }
  const parse = <Item>(data: { data: string }[]): Item[] => data.map((row) => JSON.parse(row.data))
  const prices = [...provider.prices.values()].filter(({ active }) => active)
  const products = [...provider.products.values()]
  assert.deepEqual(byId(parse<CatalogueProduct>(rows.products)), byId(products))
  assert.deepEqual(byId(parse<CataloguePrice>(rows.prices)), byId(prices))

  const members = Map.groupBy(
    products.map((product) => ({ product, prices: prices.filter(({ productId }) => productId === product.id) })),
    ({ product }) => objectKeyOf(product),
  )
  const stored = await objects()
  for (const [key, { archived, value }] of stored) {
    const wanted = projectProduct(members.get(key) ?? [], new Map()).value
    assert.equal(archived, wanted === undefined, key)
    if (wanted) assert.deepEqual(value, wanted, key)
  }
  for (const [key, parts] of members)
    assert.ok(stored.has(key) || projectProduct(parts, new Map()).value === undefined, `${key} is there`)
}

const pick = <Item>(random: () => number, items: readonly Item[]): Item | undefined =>
  items[Math.floor(random() * items.length)]

/** Makes one change at the provider; returns the product that its event names. */
function changeSomething(provider: FakeProvider, random: () => number, products = 25): string {
  const id = `prod_${Math.floor(random() * products)}`
  const known = provider.products.get(id)
  if (!known) {
    const shared = random() < 0.4 ? { variant_of: `shared_${Math.floor(random() * 3)}`, variant: id } : {}
    provider.put({ id, createdMs: Math.floor(random() * 5), metadata: shared }, {}, { nickname: 'B' })
    return id
  }
  const prices = [...provider.prices.values()].filter(({ productId }) => productId === id)
  const price = pick(random, prices)
  const metadata = {
    ...known.metadata,
    variant_of: pick(random, ['', 'shared_1', 'shared_2']) ?? '',
    colour: pick(random, ['red', 'blue']) ?? '',
  }
  const kinds = [
    () => provider.products.set(id, { ...known, name: `Name ${Math.floor(random() * 1000)}` }),
    () => provider.products.set(id, { ...known, active: !known.active }),
    () => provider.products.set(id, { ...known, metadata }),
    () => price && provider.prices.set(price.id, { ...price, active: !price.active }),
    () => price && provider.prices.set(price.id, { ...price, unitAmount: String(Math.floor(random() * 1000)) }),
    () => provider.put({ ...known }, {}, { nickname: 'A' }, { nickname: 'B' }),
    () => provider.remove(id),
  ]
  pick(random, kinds)?.()
  return id
}

/** Delays answers at random, so that results are outdated when they arrive. */
function answerLate(provider: FakeProvider, seed: number): void {
  const random = randomFrom(seed)
  provider.onCall = async ({ moment }) => {
    const turns = moment === 'answered' ? Math.floor(random() * 20) : 0
    for (let turn = 0; turn < turns; turn += 1) await nextTurn()
  }
}

onBothEngines('data fetched from a catalogue', (engine) => {
  it('never replaces newer data when an older answer arrives late', async () => {
    const { provider, refresh, objects } = await shop(engine)
    provider.put({ id: 'p', name: 'First' }, {})
    await refresh('p')
    const { open, opened } = gate()
    const { open: isAsked, opened: asked } = gate()
    provider.onCall = async ({ moment }) => {
      if (moment !== 'answered') return
      provider.onCall = () => {}
      isAsked()
      await opened
    }
    const late = refresh('p')
    await asked
    provider.put({ id: 'p', name: 'Second' }, {})
    await refresh('p')
    open()
    await late
    assert.equal((await objects()).get('p')?.value.name, 'Second')
    assert.equal(provider.calls.filter((call) => call === 'fetchProduct p').length, 4) // the late one fetched again
  })

  it('does not restore what was removed in the meantime', async () => {
    const { provider, refresh, objects, group } = await shop(engine)
    provider.put({ id: 'p' }, {})
    await refresh('p')
    const { open, opened } = gate()
    const { open: isAsked, opened: asked } = gate()
    provider.onCall = async ({ moment }) => {
      if (moment !== 'answered') return
      provider.onCall = () => {}
      isAsked()
      await opened
    }
    const late = refresh('p')
    await asked
    provider.remove('p')
    await refresh('p')
    open()
    await late
    assert.equal((await objects()).get('p')?.archived, true)
    assert.deepEqual(await group.store.database.read.selectFrom('catalogue_products').select('data').execute(), [])
  })

  for (const name of ['listPrices', 'listProducts'] as const)
    it(`is not overwritten by an older page of a synchronisation (${name})`, async () => {
      const created = await shop(engine)
      const { provider, refresh, sync, worker } = created
      provider.put({ id: 'changed', name: 'Old' }, { unitAmount: '100' })
      provider.put({ id: 'removed' }, {})
      provider.put({ id: 'untouched' }, {})
      await sync()
      provider.onCall = async (call) => {
        if (call.name !== name || call.moment !== 'answered') return
        provider.onCall = () => {}
        provider.put({ id: 'changed', name: 'New' }, { unitAmount: '200' })
        provider.remove('removed')
        provider.put({ id: 'added' }, {})
        for (const id of ['changed', 'removed', 'added']) await refresh(id)
      }
      await sync()
      await worker.runDue()
      await assertMirrors(created)
    })

  it('is correct when a price is removed between the prices and products phases', async () => {
    const created = await shop(engine)
    const { provider, sync } = created
    provider.put({ id: 'p', defaultPriceId: 'b' }, { id: 'a' }, { id: 'b' })
    await sync()
    provider.onCall = ({ name, moment }) => {
      if (name === 'listPrices' && moment === 'asked') provider.prices.delete('b')
    }
    await sync()
    await assertMirrors(created)
  })

  it('is not written twice by two concurrent synchronisations', async () => {
    const created = await shop(engine)
    const { provider, sync, objects } = created
    for (let number = 0; number < 220; number += 1) provider.put({ id: `prod_${number}` }, {})
    const [report] = await Promise.all([sync(), sync()])
    assert.deepEqual([report.added, report.products], [220, 220])
    assert.equal((await objects()).size, 220)
    await assertMirrors(created)
  })

  it('equals the catalogue after events in any order, some twice, without a synchronisation', async () => {
    const created = await shop(engine)
    const { provider, refresh } = created
    answerLate(provider, 5)
    for (let seed = 1; seed <= (isProof ? 20 : 6); seed += 1) {
      await shuffledEvents({
        events: 12,
        seed,
        dropped: 0,
        atOnce: 3,
        change: (random) => changeSomething(provider, random, 2),
        deliver: refresh,
      })
      await assertMirrors(created)
    }
  })

  it('equals the catalogue after events in any order, some twice and some never, and one synchronisation', async () => {
    const created = await shop(engine)
    const { provider, refresh, sync } = created
    answerLate(provider, 1)
    const { lost } = await shuffledEvents({
      events: isProof ? 300 : 120,
      seed: 1,
      change: (random) => changeSomething(provider, random),
      deliver: refresh,
    })
    assert.ok(lost > 10, 'events were lost')
    await sync()
    await assertMirrors(created)
  })

  it('equals the catalogue when it changes during a synchronisation, with events', async () => {
    const created = await shop(engine)
    const { provider, refresh, sync, worker } = created
    for (let number = 0; number < 25; number += 1) provider.put({ id: `prod_${number}` }, {}, { nickname: 'B' })
    answerLate(provider, 7)
    let isOver = false
    const walking = (async () => {
      while (!isOver) await sync()
    })()
    await shuffledEvents({
      events: isProof ? 150 : 50,
      seed: 7,
      dropped: 0,
      change: (random) => changeSomething(provider, random),
      deliver: refresh,
    })
    isOver = true
    await walking
    await worker.runDue()
    await assertMirrors(created)
  })
})
