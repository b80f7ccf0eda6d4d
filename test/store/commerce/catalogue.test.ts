import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findPrices } from '../../../src/store/commerce/catalogue.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { shop } from '../../payments/mirror/shop.ts'

onBothEngines('prices of the mirror', (engine) => {
  it('are found by their ids, with their account and our product', async () => {
    const { provider, sync, group, id, objects, connect } = await shop(engine)
    const second = await connect('second')
    provider.put({ id: 'rye' }, { id: 'price_rye', unitAmount: '500' })
    provider.put({ id: 's', metadata: { variant_of: 'loaf', variant: 'S' } }, { id: 'price_s' })
    second.provider.put({ id: 'tea' }, { id: 'price_tea' })
    await sync()
    await second.sync()
    const found = await findPrices(group.store, ['price_rye', 'price_s', 'price_tea', 'price_unknown', 'price_s'])
    const shown = found
      .map(({ price, integrationId, object }) => [price.id, integrationId, object?.id])
      .toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1))
    const ours = await objects()
    assert.deepEqual(shown, [
      ['price_rye', id, ours.get('rye')?.id],
      ['price_s', id, ours.get('loaf')?.id],
      ['price_tea', second.id, (await second.objects()).get('tea')?.id],
    ])
    assert.equal(found.find(({ price }) => price.id === 'price_rye')?.price.unitAmount, '500')
  })

  it('have no product if none could be built', async () => {
    const { provider, sync, group } = await shop(engine)
    provider.put({ id: 'off', active: false }, { id: 'price_off' })
    await sync()
    const [found] = await findPrices(group.store, ['price_off'])
    assert.deepEqual([found?.price.id, found?.object], ['price_off', undefined])
  })

  it('keep an archived product, so that a refusal can name the reason', async () => {
    const { provider, sync, group } = await shop(engine)
    provider.put({ id: 'rye' }, { id: 'price_rye' })
    await sync()
    provider.put({ id: 'rye', active: false }, { id: 'price_rye' })
    await sync()
    const [found] = await findPrices(group.store, ['price_rye'])
    assert.equal(found?.object?.archived, true)
  })

  it('of another group are not found', async () => {
    const { provider, sync, newGroup } = await shop(engine)
    provider.put({ id: 'rye' }, { id: 'price_rye' })
    await sync()
    const other = await newGroup()
    assert.deepEqual(await findPrices(other.store, ['price_rye']), [])
    assert.deepEqual(await findPrices(other.store, []), [])
  })
})
