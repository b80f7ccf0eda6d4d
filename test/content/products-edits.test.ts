import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Editable, mergeEdits, type Origin } from '../../src/content/product-edits.ts'

const values = (more: Partial<Editable> = {}): Editable => ({
  archived: false,
  productType: null,
  productImage: null,
  ...more,
})

const effective = ({ archived, productType, productImage }: Editable): Editable => ({
  archived,
  productType,
  productImage,
})

/** A product from the provider's values, after an editor's changes. */
function edited(provider: Editable, edit: Partial<Editable>): { origin: Origin; current: Editable } {
  const { origin, ...current } = mergeEdits(undefined, values(), provider)
  return { origin, current: { ...effective(current), ...edit } }
}

describe('an editor’s value', () => {
  it('is absent until set: the product follows the provider', () => {
    const { origin, current } = edited(values({ productType: 'Bread' }), {})
    const now = values({ productType: 'Cake', productImage: { key: 'new' }, archived: true })
    assert.deepEqual(effective(mergeEdits(origin, current, now)), now)
  })

  it('takes precedence over later values of the provider', () => {
    const edit = { productType: 'Ours', productImage: { key: 'ours' }, archived: true }
    const { origin, current } = edited(values({ productType: 'Bread' }), edit)
    const merged = mergeEdits(origin, current, values({ productType: 'Cake', productImage: { key: 'theirs' } }))
    assert.deepEqual(effective(merged), edit)
    assert.deepEqual(effective(mergeEdits(merged.origin, merged, values())), edit)
  })

  it('stays removed once an editor has removed it', () => {
    const { origin, current } = edited(values({ productType: 'Bread', productImage: { key: 'a' } }), {
      productType: null,
      productImage: null,
    })
    const merged = mergeEdits(origin, current, values({ productType: 'Cake', productImage: { key: 'b' } }))
    assert.deepEqual(effective(merged), values())
  })

  it('ends when the editor sets it back to the provider’s value', () => {
    const { origin, current } = edited(values({ productType: 'Bread' }), { productType: 'Ours', archived: true })
    const merged = mergeEdits(origin, current, values({ productType: 'Bread' }))
    const takenBack = { ...effective(merged), productType: 'Bread', archived: false }
    const after = mergeEdits(merged.origin, takenBack, values({ productType: 'Cake' }))
    assert.deepEqual(effective(after), values({ productType: 'Cake' }))
    assert.deepEqual(after.origin.edited, {})
  })

  it('cannot sell what the provider does not sell', () => {
    const { origin, current } = edited(values({ archived: true }), { archived: false })
    const merged = mergeEdits(origin, current, values({ archived: true }))
    assert.equal(merged.archived, true)
    assert.equal(mergeEdits(merged.origin, merged, values()).archived, false)
  })

  it('is kept for an imported product, except for what it lacks', () => {
    const provider = values({ productType: 'Theirs', productImage: { key: 'theirs' } })
    const merged = mergeEdits(undefined, values({ productType: 'Ours', archived: true }), provider)
    assert.deepEqual(merged.origin.edited, { archived: true, productType: 'Ours' })
    assert.deepEqual(effective(merged), { ...provider, productType: 'Ours', archived: true })
  })

  it('is always the last edit, in any order of edits and syncs', () => {
    const text = fc.constantFrom(null, 'A', 'B', 'C')
    const editable = { archived: fc.boolean(), productType: text, productImage: text }
    const step = fc.oneof(
      fc.record({ provider: fc.record(editable) }),
      fc.record({ edit: fc.record(editable, { requiredKeys: [] }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let provider = values()
        let { origin, ...current } = mergeEdits(undefined, values(), provider)
        /** The editor's last value that differed from the provider's at that time. */
        const wanted: Partial<Editable> = {}
        for (const { provider: received, edit } of steps.map((each) => ({
          provider: undefined,
          edit: undefined,
          ...each,
        }))) {
          for (const field of ['productType', 'productImage'] as const) {
            if (edit?.[field] === undefined || edit[field] === current[field]) continue
            if (edit[field] === provider[field]) delete wanted[field]
            else wanted[field] = edit[field]
          }
          if (edit?.archived === true && !current.archived) wanted.archived = true
          if (edit?.archived === false && current.archived) delete wanted.archived
          current = { ...current, ...edit }
          provider = received ?? provider
          ;({ origin, ...current } = mergeEdits(origin, current, provider))
          assert.deepEqual(current.productType, 'productType' in wanted ? wanted.productType : provider.productType)
          assert.deepEqual(current.productImage, 'productImage' in wanted ? wanted.productImage : provider.productImage)
          assert.equal(current.archived, wanted.archived === true || provider.archived)
        }
      }),
      { numRuns: 2000 },
    )
  })
})
