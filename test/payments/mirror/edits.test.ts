import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothEngines, type TestEngine, testStartMs } from '../../helpers/harness.ts'
import { fileForm } from '../../helpers/manage.ts'
import { smallPicture } from '../../helpers/pictures.ts'
import { shop } from './shop.ts'

const tomorrow = new Date(testStartMs + 86_400_000).toISOString()

async function withRye(engine: TestEngine) {
  const created = await shop(engine)
  const { provider, sync, objects, does } = created
  const rye = (name: string, productType: string) => provider.put({ id: 'rye', name, metadata: { productType } }, {})
  rye('Rye', 'Bread')
  await sync()
  const current = async () => {
    const object = (await objects()).get('rye')
    assert.ok(object)
    return object
  }
  return {
    ...created,
    rye,
    current,
    edit: async (change: object) => {
      const { id, version } = await current()
      return does('PATCH', `/products/${id}`, { version, ...change })
    },
  }
}

onBothEngines('what editors set on a product', (engine) => {
  it('survives a synchronisation and an event, while the rest follows the provider', async () => {
    const { rye, sync, refresh, edit, current, does } = await withRye(engine)
    const { name, key, type } = await does('POST', '/media', fileForm('ours.png', await smallPicture('png')))
    const productImage = { name, key, type }
    await edit({ publishDate: tomorrow, archived: true, productType: 'Ours', productImage })
    rye('Dark rye', 'Theirs')
    for (const follow of [sync, () => refresh('rye')]) {
      await follow()
      const { value, archived, publishMs } = await current()
      assert.deepEqual(
        [value.name, value.productType, value.productImage, archived, publishMs],
        ['Dark rye', 'Ours', productImage, true, Date.parse(tomorrow)],
      )
    }
  })

  it('survives the removal and return of the product', async () => {
    const { provider, rye, sync, edit, current } = await withRye(engine)
    await edit({ productType: 'Ours' })
    provider.remove('rye')
    await sync()
    assert.deepEqual([(await current()).archived, (await current()).value.productType], [true, 'Ours'])
    rye('Back', 'Theirs')
    await sync()
    assert.deepEqual([(await current()).archived, (await current()).value.productType], [false, 'Ours'])
  })

  it('remains removed if an editor removed it, and follows the provider again once restored', async () => {
    const { rye, sync, edit, current } = await withRye(engine)
    await edit({ productType: null })
    rye('Rye', 'Second')
    await sync()
    assert.equal((await current()).value.productType, undefined)
    await edit({ productType: 'Second' })
    rye('Rye', 'Third')
    await sync()
    assert.equal((await current()).value.productType, 'Third')
  })

  it('does not sell what the provider does not sell', async () => {
    const { provider, sync, edit, current, rye } = await withRye(engine)
    provider.remove('rye')
    await sync()
    await edit({ archived: false })
    await sync()
    assert.equal((await current()).archived, true)
    rye('Rye', 'Bread')
    await sync()
    assert.equal((await current()).archived, false)
  })

  it('creates no new version if a synchronisation finds no changes', async () => {
    const { sync, edit, current } = await withRye(engine)
    await edit({ productType: 'Ours', archived: true })
    const { version } = await current()
    await sync()
    await sync()
    assert.equal((await current()).version, version)
  })
})
