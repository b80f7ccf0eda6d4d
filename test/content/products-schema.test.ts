import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { fitValue, productSchema, widenSchema } from '../../src/content/product-schema.ts'

const groupId = 'a'.repeat(24)
const value = { name: 'Rye', price: '1.00', default_price: 'p' }

describe('the schema of products', () => {
  it('is valid as a schema written by hand', () => {
    assert.deepEqual(parseSchema(Object.fromEntries(productSchema)), productSchema)
  })

  it('gets a filterable, unsearchable field for each metadata name', () => {
    const wide = widenSchema(productSchema, [{ ...value, colour: 'red' }])
    assert.deepEqual(wide.get('colour'), { type: 'variant', of: { type: 'text', maxLength: 500 }, searchable: false })
    assert.deepEqual(parseSchema(Object.fromEntries(wide)), wide)
  })

  it('gets at most 100 of them, and reports what does not fit', () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, number) => [`m${number}`, 'x']))
    const wide = widenSchema(productSchema, [{ ...value, ...many }])
    assert.equal(wide.size, productSchema.size + 100)
    const { value: fitted, problems } = fitValue(wide, groupId, { ...value, ...many })
    assert.equal(Object.keys(fitted ?? {}).length, 103)
    assert.deepEqual(problems, ['metadata.m100 is left out: products have at most 100 such fields.'])
  })

  it('stays unchanged when every field fits', () => {
    const wide = widenSchema(productSchema, [{ ...value, colour: 'red' }])
    assert.deepEqual(widenSchema(wide, [value, { ...value, colour: { S: 'red', L: 'blue' } }]), wide)
  })

  it('adds only what an existing schema lacks, and widens only what is too narrow', () => {
    const existing = parseSchema({
      name: { type: 'variant', of: { type: 'text', maxLength: 120 }, required: true },
      description: { type: 'text', maxLength: 10 },
      productType: { type: 'enum', values: ['Bread'] },
      variantName: { type: 'text', private: true },
      cost: { type: 'text', private: true },
    })
    const same = widenSchema(existing, [{ ...value, productType: 'Bread', description: 'short', cost: '1' }])
    assert.deepEqual(same.get('name'), existing.get('name'))
    assert.deepEqual(same.get('description'), existing.get('description'))
    assert.deepEqual(same.get('productType'), existing.get('productType'))
    assert.deepEqual(same.get('cost'), existing.get('cost'))
    assert.equal(same.get('variantName')?.private, undefined)
    assert.equal(same.get('price')?.required, false) // existing products may lack it
    const wide = widenSchema(existing, [{ ...value, productType: 'Cake', description: 'much longer than ten' }])
    assert.equal(wide.get('productType')?.type, 'text')
    assert.deepEqual(wide.get('description'), { type: 'variant', of: { type: 'longText' }, required: false })
  })
})

describe('an external value', () => {
  it('drops what cannot be stored, and reports it', () => {
    const wide = widenSchema(productSchema, [{ bad: 'x' }])
    const { value: fitted, problems } = fitValue(wide, groupId, { ...value, bad: 'a\0b' })
    assert.deepEqual(fitted, value)
    assert.match(problems[0] ?? '', /objectValue\.bad contains a character that cannot be stored/)
  })

  it('is not a product without a name, a price or a price id, whatever the schema requires', () => {
    for (const missing of ['name', 'price', 'default_price']) {
      const { value: fitted, problems } = fitValue(widenSchema(new Map(), []), groupId, { ...value, [missing]: 'a\0b' })
      assert.equal(fitted, undefined)
      assert.match(problems.join(), new RegExp(`objectValue\\.${missing} `))
    }
  })

  it('cannot reference another group’s file', () => {
    const description = `<img src="media:${'b'.repeat(24)}/secret.png">`
    const { value: fitted, problems } = fitValue(productSchema, groupId, { ...value, description })
    assert.deepEqual(fitted, value)
    assert.match(problems.join(), /does not belong to this group/)
  })

  it('drops a description that is too large', () => {
    const { value: fitted, problems } = fitValue(productSchema, groupId, { ...value, description: 'x'.repeat(1e6) })
    assert.deepEqual(fitted, value)
    assert.match(problems.join(), /at most 1000000 characters/)
  })
})
