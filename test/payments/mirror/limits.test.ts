import assert from 'node:assert/strict'
import { it } from 'node:test'
import { scheduleSyncs } from '../../../src/payments/mirror/sync.ts'
import { findMembers } from '../../../src/store/commerce/catalogue.ts'
import { findPendingJobs } from '../../../src/store/jobs/jobs.ts'
import { assertIndexIsRight } from '../../helpers/editing.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { type Shop, shop } from './shop.ts'

const dayMs = 86_400_000
const numbered = (number: number): string => String(number).padStart(5, '0')

function addVariants({ provider }: Shop, count: number): void {
  for (let number = 0; number < count; number += 1) {
    const metadata = { variant_of: 'k', variant: `v${number}` }
    provider.put({ id: `prod_${numbered(number)}`, name: 'V', metadata }, {})
  }
}

onBothEngines('a catalogue beyond the limits', (engine) => {
  it('gives a product its first 1,000 variants, and never reads more of them', async () => {
    const created = await shop(engine)
    const { sync, objects, group, id } = created
    addVariants(created, 1100)
    const { problems } = await sync()
    assert.deepEqual(problems, ['More than 1000 products are variants of "k": the rest are left out.'])
    const { default_price: sold } = Object((await objects()).get('k')?.value)
    assert.deepEqual([Object.keys(sold).length, sold.v999, sold.v1000], [1000, 'price_prod_00999_1', undefined])
    const members = (await findMembers(group.store, id, ['k'])).get('k') ?? []
    assert.equal(members.length, 1001)
    await assertIndexIsRight(group.store)
  })

  it('reads only the first prices of a product, and always the default one', async () => {
    const { provider, refresh, objects, group, id } = await shop(engine)
    const prices = Array.from({ length: 1200 }, (_, number) => ({
      id: `price_${numbered(number)}`,
      nickname: `n${number}`,
    }))
    provider.put({ id: 'tea', defaultPriceId: 'price_01199' }, ...prices)
    const { problems } = await refresh('tea')
    assert.deepEqual(problems, ['The product tea has more than 1000 prices: the rest are left out.'])
    const sold = Object.values(Object((await objects()).get('tea')?.value.default_price))
    assert.deepEqual([sold.length, sold.at(-1)], [1000, 'price_01199'])
    const [member] = (await findMembers(group.store, id, ['tea'])).get('tea') ?? []
    assert.equal(member?.prices.length, 1002)
  })

  it('gets a field for a new metadata name without reports on other products', async () => {
    const { provider, sync, refresh, objects, ids, group } = await shop(engine)
    for (const id of ['a', 'b', 'c']) provider.put({ id }, {})
    provider.put({ id: 'off' }, {})
    await sync()
    provider.put({ id: 'off', active: false }, {})
    await sync()
    const before = await objects()
    provider.put({ id: 'b', metadata: { colour: 'red', shape: 'round' } }, {})
    assert.deepEqual(await refresh('b'), { added: 0, changed: 1, archived: 0, problems: [] })
    await assertIndexIsRight(group.store)
    assert.deepEqual(await ids('&filters[colour]=red'), ['b'])
    assert.equal((await ids('&sort=colour:asc'))[0], 'b')
    assert.equal((await ids('&sort=shape:desc')).length, 3)
    const after = await objects()
    for (const id of ['a', 'c', 'off']) assert.deepEqual(after.get(id), before.get(id))
  })
})

onBothEngines('a catalogue with texts that cannot be stored', (engine) => {
  for (const text of ['a\0b', '\ud800']) {
    it(`is synchronised, with ${JSON.stringify(text)} in every text`, async () => {
      const { provider, sync, objects, worker, clock, products } = await shop(engine)
      provider.put({ id: 'good' }, {})
      provider.put({ id: text }, {})
      provider.put({ id: 'odd_price' }, { id: `price${text}` }, { id: 'price_good' })
      provider.put({ id: 'odd_default', defaultPriceId: text }, { id: 'price_other' })
      provider.put({ id: 'part', metadata: { variant_of: text, variant: 'S' } }, {})
      const metadata = { [text]: text, colour: text, productType: text, variant: text, variant_name: text }
      const images = [`https://pictures.example/${text}`]
      provider.put({ id: 'all', name: text, description: text, images, metadata }, { nickname: text, lookupKey: text })
      const { problems, products: count } = await sync()
      assert.equal(count, 6)
      const { value = {} } = (await objects()).get('odd_price') ?? {}
      assert.equal(value.default_price, 'price_good')
      assert.deepEqual([...(await objects()).keys()].sort(), ['all', 'good', 'odd_default', 'odd_price', 'part'])
      for (const problem of [
        /^The product ".*" is left out/m,
        /^The price ".*" is left out/m,
        /"variant_of" of the product part/,
        /The name of the product all/,
      ])
        assert.match(problems.join('\n'), problem)
      assert.equal((await products()).length, 5)
      clock.now += dayMs
      await worker.runDue()
      assert.equal((await sync()).changed, 0)
    })
  }
})

onBothEngines('a long synchronisation', (engine) => {
  it('yields to other jobs after a minute, and continues where it stopped', async () => {
    const first = await shop(engine, { workers: 1 })
    const { provider, clock, service, worker, group, objects } = first
    const second = await first.connect('second')
    const order: string[] = []
    for (const [name, account] of [['first', first], ['second', second]] as const) // biome-ignore format: short
      account.provider.onCall = ({ moment }) => {
        if (moment !== 'asked') return
        order.push(name)
        clock.now += 25_000
      }
    for (let number = 0; number < 350; number += 1) provider.put({ id: `prod_${numbered(number)}` }, {})
    second.provider.put({ id: 'tea' }, {})
    await scheduleSyncs(service.store, clock.now, dayMs)
    await worker.runDue()
    assert.deepEqual([(await objects()).size, (await second.objects()).size], [350, 1])
    assert.equal(order[0], 'first')
    assert.ok(order.indexOf('second') < order.lastIndexOf('first'), order.join(' '))
    assert.equal(order.filter((name) => name === 'first').length, 4 + 4 + 1)
    assert.deepEqual(await findPendingJobs(group.store, 'catalogue.sync'), [])
  })
})
