import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { declareMetadata } from '../../src/content/product-metadata.ts'
import { productSchema, readMetadata } from '../../src/content/product-schema.ts'
import { assertIndexIsRight, assertRefused } from '../helpers/editing.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'
import { addToSandbox } from '../helpers/sandbox.ts'

const declared = {
  quantityOptions: { type: 'list', of: { type: 'integer' } },
  weight: { type: 'decimal' },
  organic: { type: 'boolean' },
}

onBothEngines('metadata that the schema declares', (engine) => {
  async function shop() {
    const created = await managing(engine)
    const group = await created.newManagedGroup()
    const { ask, call, service } = created
    const base = `/manage/groups/${group.groupId}`
    const { _id } = await ask('POST', `${base}/integrations/sandbox`, { type: 'stripe' })
    const run = async () => {
      while ((await service.worker.runDue()) > 0);
    }
    await run()
    const add = async (id: string, metadata: Record<string, string>) => {
      const prices = [{ id: `price_${id}`, currency: 'cad', unit_amount: 500 }]
      await addToSandbox(group.store, _id, [{ product: { id, name: id, metadata }, prices }], created.clock.now)
    }
    const edit = (id: string, change: object) =>
      ask('PATCH', `${base}/integrations/${_id}/sandbox/products/${id}`, change)
    const list = async (query = '') =>
      (await group.get(`/tenant/integrationObjects?type=stripe&${query}`)).json().data.items as {
        id: string
        objectValue: Record<string, unknown>
      }[]
    const fieldsOf = async (id: string) => (await list()).find((one) => one.id === id)?.objectValue ?? {}
    const change = (body: object) => call('POST', `${base}/integrationTypes/stripe/schema`, body)
    const show = () => ask('GET', `${base}/integrationTypes/stripe`)
    const account = () => ask('GET', `${base}/integrations/${_id}`)
    return { ...created, group, edit, add, list, fieldsOf, change, show, account, run }
  }

  it('is delivered, filtered and sorted by its type; what does not fit is reported and delivered as text', async () => {
    const { add, list, fieldsOf, change, show, account, run, group, edit } = await shop()
    await add('box', { quantityOptions: '1, 6,12', weight: '10.50', organic: 'true' })
    await add('bag', { quantityOptions: 'a few', weight: '9' })
    await run()
    assert.equal((await fieldsOf('box')).quantityOptions, '1, 6,12')
    const { version } = await show()
    const dry = (await change({ version, schema: declared, dryRun: true })).json().data
    assert.equal(dry.report.leftOut.count, 1)
    const answer = await change({ version, schema: declared })
    assert.equal(answer.statusCode, 200, answer.body)
    assert.deepEqual((await fieldsOf('box')).quantityOptions, [1, 6, 12])
    await run()
    const box = await fieldsOf('box')
    assert.deepEqual([box.quantityOptions, box.weight, box.organic], [[1, 6, 12], 10.5, true])
    const bag = await fieldsOf('bag')
    assert.deepEqual([bag.quantityOptions, bag.weight], [undefined, 9])
    const ids = async (query: string) => (await list(query)).map(({ id }) => id)
    assert.deepEqual(await ids('filters[quantityOptions]=6'), ['box'])
    assert.deepEqual(await ids('filters[organic]=true'), ['box'])
    assert.deepEqual((await ids('sort=weight:asc')).slice(0, 2), ['bag', 'box'])
    const { problems } = (await account()).lastSync
    assert.deepEqual(problems, ['metadata.quantityOptions of the product "bag" is left out: objectValue.quantityOptions[0] must be a whole number.']) // biome-ignore format: short
    await edit('bag', { metadata: { quantityOptions: '2' } })
    await run()
    assert.deepEqual((await fieldsOf('bag')).quantityOptions, [2])
    await assertIndexIsRight(group.store)
    await change({ version: (await show()).version, schema: {} })
    await run()
    assert.deepEqual([(await fieldsOf('box')).quantityOptions, (await fieldsOf('box')).weight], ['1, 6,12', '10.50'])
    assert.deepEqual((await account()).lastSync.problems, [])
    await assertIndexIsRight(group.store)
  })

  it('is refused if it is the provider’s own field, or its type cannot be parsed from text', async () => {
    const { change, show } = await shop()
    const { version, schema } = await show()
    const refused: [schema: object, message: RegExp][] = [
      [{ price: { type: 'integer' } }, /schema\.price is the provider's own field/],
      [{ photo: { type: 'image' } }, /schema\.photo must have a type that text can be converted to/],
      [{ photo: { type: 'json' } }, /schema\.photo must have a type that text can be converted to/],
      [
        { parts: { type: 'list', of: { type: 'object', fields: { a: { type: 'text' } } } } },
        /schema\.parts must have a type/,
      ],
      [{ size: { type: 'integer', required: true } }, /schema\.size cannot be required/],
      [{ size: { type: 'text', unique: true } }, /schema\.size cannot be unique/],
      [{ size: { type: 'text', searchable: true } }, /schema\.size cannot be searchable/],
    ]
    for (const [wrong, message] of refused) assertRefused(await change({ version, schema: wrong }), 400, message)
    assertRefused(
      await change({ version, schema: {}, renames: { a: 'b' } }),
      400,
      /renames and defaults do not apply to/,
    )
    assert.equal((await change({ version, schema })).statusCode, 200, 'shown values can be sent back')
  })
})

it('reads metadata by its declared type, and leaves what it cannot parse', () => {
  const field = (written: object) => parseSchema({ a: written }).get('a') as Parameters<typeof readMetadata>[0]
  const integers = { type: 'list', of: { type: 'integer' } }
  const cases: [written: object, item: unknown, read: unknown][] = [
    [{ type: 'integer' }, '12', 12],
    [{ type: 'integer' }, '-3', -3],
    [{ type: 'integer' }, '1.5', '1.5'],
    [{ type: 'integer' }, '12345678901234567890', '12345678901234567890'],
    [{ type: 'decimal' }, '4.50', 4.5],
    [{ type: 'boolean' }, 'yes', 'yes'],
    [integers, '1,6,12', [1, 6, 12]],
    [integers, ' 1 ,, x', [1, 'x']],
    [integers, '', []],
    [{ type: 'list', of: { type: 'text' } }, 'red, dark blue', ['red', 'dark blue']],
    [
      { type: 'variant', of: integers },
      { S: '1,2', L: '6' },
      { S: [1, 2], L: [6] },
    ],
    [{ type: 'integer' }, { S: '1', L: '2' }, { S: '1', L: '2' }],
    [{ type: 'text' }, '12', '12'],
  ]
  for (const [written, item, read] of cases) assert.deepEqual(readMetadata(field(written), item), read)
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`f${at}`, { type: 'integer' }]))
  assert.throws(() => declareMetadata(productSchema, parseSchema(many)), /at most 100 fields of metadata/)
})
