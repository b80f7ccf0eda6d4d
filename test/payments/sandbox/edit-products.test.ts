import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertRefused, type Data } from '../../helpers/editing.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { fileForm, managing } from '../../helpers/manage.ts'
import { plainPng } from '../../helpers/pictures.ts'

onBothEngines('products of the sandbox', (engine) => {
  async function shop() {
    const created = await managing(engine)
    const { ask, call, service } = created
    const group = await created.newManagedGroup()
    const base = `/manage/groups/${group.groupId}`
    const { _id } = await ask('POST', `${base}/integrations/sandbox`, { type: 'stripe' })
    const run = async () => {
      while ((await service.worker.runDue()) > 0);
    }
    await run()
    const path = `${base}/integrations/${_id}/sandbox/products`
    const delivered = async (id: string) => {
      const { items } = (await group.get('/tenant/integrationObjects?type=stripe')).json().data
      return items.find((one: Data) => one.id === id)
    }
    return { ...created, ask, call, group, base, path, run, delivered }
  }

  it('are created with a picture, changed, and sold as shown', async () => {
    const { ask, call, group, base, path, delivered, run } = await shop()
    const picture = await ask('POST', `${base}/media`, fileForm('rye.png', plainPng(4, 4)))
    const rye = { name: 'Rye', price: '5.50', currency: 'CAD', description: 'Dark.', imageKey: picture.key }
    const made = await ask('POST', path, { ...rye, metadata: { productType: 'Bread', quantityOptions: '1,6' } })
    const { objectValue } = await delivered(made.id)
    const { name, price, currency, description, productType, quantityOptions, productImage } = objectValue
    assert.deepEqual([name, price, currency, description, productType, quantityOptions], ['Rye', '5.50', 'cad', 'Dark.', 'Bread', '1,6']) // biome-ignore format: short
    assert.deepEqual([productImage.key, productImage.type], [picture.key, 'image'])
    assert.match(productImage.currentFile.source, /\?expires=/)

    const change = { name: 'Rye bread', price: '6.00', metadata: { productType: 'Loaf' } }
    const changed = await ask('PATCH', `${path}/${made.id}`, change)
    assert.deepEqual([changed._id, changed.objectValue.name], [made._id, 'Rye bread'])
    await run()
    const after = (await delivered(made.id)).objectValue
    assert.deepEqual([after.price, after.productType, after.productImage.key], ['6.00', 'Loaf', picture.key])
    assert.notEqual(after.default_price, objectValue.default_price)
    const buy = (priceId: string) =>
      group.post('/tenant/createCheckoutSession', {
        products: [{ price: priceId, quantity: 1 }],
        requiresShipping: false,
        originUrl: 'https://shop.example',
      })
    assert.equal((await buy(after.default_price)).statusCode, 200)
    assert.equal((await buy(objectValue.default_price)).statusCode, 409)

    await ask('PATCH', `${path}/${made.id}`, { imageKey: '' })
    assert.equal((await delivered(made.id)).objectValue.productImage, undefined)
    const withdrawn = await call('PATCH', `${path}/${made.id}`, { active: false })
    assert.equal(withdrawn.json().data.status, 'archived')
    assert.equal(await delivered(made.id), undefined)
    await ask('PATCH', `${path}/${made.id}`, { active: true })
    assert.equal((await delivered(made.id)).objectValue.price, '6.00')
  })

  it('can have an interval, and currencies without decimals', async () => {
    const { ask, path } = await shop()
    const made = await ask('POST', path, { name: 'Club', price: '1500', currency: 'jpy', interval: 'month' })
    assert.deepEqual([made.objectValue.price, made.objectValue.interval], ['1500', 'month'])
  })

  it('can be changed concurrently, and show the last change', async () => {
    const { ask, call, path, delivered } = await shop()
    const made = await ask('POST', path, { name: 'Rye', price: '5.00', currency: 'cad' })
    const changes = Array.from({ length: 25 }, (_, n) => call('PATCH', `${path}/${made.id}`, { name: `Rye ${n}` }))
    const answers = await Promise.all(changes)
    assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))], [200])
    const shown = await ask('PATCH', `${path}/${made.id}`, { price: '6.00' })
    const { name, price } = (await delivered(made.id)).objectValue
    assert.deepEqual([name, price], [shown.objectValue.name, '6.00'])
  })

  it('are refused with an explanation when invalid, or for a real account', async () => {
    const { ask, call, base, path } = await shop()
    const good = { name: 'Rye', price: '5.50', currency: 'cad' }
    const refused: [body: object, message: RegExp][] = [
      [{ ...good, imageKey: 'nothing.png' }, /There is no picture with the key "nothing\.png"/],
      [{ ...good, price: '5.505' }, /price has more decimals than cad has/],
      [{ ...good, price: 'free' }, /price/],
      [{ ...good, metadata: { [`k${'x'.repeat(60)}`]: 'v' } }, /metadata|keys?/i],
    ]
    for (const [body, message] of refused) assertRefused(await call('POST', path, body), 400, message)
    assertRefused(await call('PATCH', `${path}/prod_none`, { name: 'x' }), 404, /No such product/)
    assertRefused(await call('PATCH', `${path}/prod_sandbox_mug`, { currency: 'eur' }), 400, /give price as well/)
    const account = { type: 'stripe', accountHandle: 'real', secretKey: 'sk_test_real_canary' }
    const { _id } = await ask('POST', `${base}/integrations`, account)
    assertRefused(await call('POST', `${base}/integrations/${_id}/sandbox/products`, good), 400, /is a real account/)
  })
})
