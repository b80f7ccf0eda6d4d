import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createProviderPlaces } from '../../src/payments/provider-places.ts'
import { gate } from '../jobs/workshop.ts'

const busy = { code: 'Unavailable', retryAfterSeconds: 1 }

describe('places at a payment provider', () => {
  it('let so many of a group in, and turn away who has waited too long', async () => {
    const inPlace = createProviderPlaces({ mostOfGroup: 2, mostOfAll: 9, waitMs: 1 })
    const { open, opened } = gate()
    const inside = ['one', 'two'].map((name) => inPlace('a', async () => opened.then(() => name)))
    await assert.rejects(
      inPlace('a', async () => 'three'),
      busy,
    )
    assert.equal(await inPlace('b', async () => 'other group'), 'other group')
    open()
    assert.deepEqual(await Promise.all(inside), ['one', 'two'])
    assert.equal(await inPlace('a', async () => 'four'), 'four')
  })

  it('let so many in altogether', async () => {
    const inPlace = createProviderPlaces({ mostOfGroup: 9, mostOfAll: 2, waitMs: 1 })
    const { open, opened } = gate()
    const inside = ['a', 'b'].map((group) => inPlace(group, () => opened))
    await assert.rejects(
      inPlace('c', async () => {}),
      busy,
    )
    open()
    await Promise.all(inside)
    await inPlace('c', async () => {})
  })

  it('go to whoever has waited longest and may have one, also when work fails', async () => {
    const inPlace = createProviderPlaces({ mostOfGroup: 1, mostOfAll: 2, waitMs: 60_000 })
    const order: string[] = []
    const note = (name: string) => async () => void order.push(name)
    const gates = { a: gate(), b: gate() }
    const failing = inPlace('a', async () => {
      await gates.a.opened
      throw new Error('failed')
    })
    const other = inPlace('b', () => gates.b.opened)
    const waiting = [inPlace('a', note('a')), inPlace('b', note('b')), inPlace('c', note('c'))]
    gates.b.open()
    await other
    await Promise.all(waiting.slice(1))
    assert.deepEqual(order, ['b', 'c'])
    gates.a.open()
    await assert.rejects(failing, /failed/)
    await waiting[0]
    assert.deepEqual(order, ['b', 'c', 'a'])
  })
})
