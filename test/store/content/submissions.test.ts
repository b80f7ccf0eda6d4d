import assert from 'node:assert/strict'
import { it } from 'node:test'
import { changeObject, deleteObjects } from '../../../src/store/content/change-objects.ts'
import { findByEmail } from '../../../src/store/content/submissions.ts'
import { findNoticePauseMs, recordNoticeSent } from '../../../src/store/mail/notices.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines } from '../../helpers/harness.ts'

onBothEngines('findByEmail', (engine) => {
  it('finds the first object of a collection with an address, ignoring case, in its current state', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    const schema = { email: { type: 'text', private: true } }
    const [members, others] = [await group.collection('Members', schema), await group.collection('Others', schema)]
    const long = `${'x'.repeat(60)}@${'y'.repeat(60)}.${'z'.repeat(60)}.${'w'.repeat(50)}.example`
    const [ada, , tall] = await group.add(
      members,
      { value: { email: 'Ada@Visitor.example' }, archived: true },
      { value: { email: 'ada@visitor.example' } },
      { value: { email: long } },
    )
    const find = async (email: string, { id } = members) => (await findByEmail(group.store, id, email))?.id
    assert.deepEqual([await find('ADA@visitor.example'), await find(long.toUpperCase())], [ada?.id, tall?.id])
    for (const email of ['', 'ada@visitor.exampl', 'da@visitor.example']) assert.equal(await find(email), undefined)
    assert.equal(await find('ada@visitor.example', others), undefined)
    await write(group.store, clock.now, async (writer) => {
      assert.ok(ada && tall)
      await changeObject(writer, members, tall, { value: { email: 'eve@visitor.example' } }, 'updated')
      await deleteObjects(writer, [{ containerId: members.id, object: ada }])
    })
    assert.deepEqual([await find(long), await find('eve@visitor.example')], [undefined, tall?.id])
    assert.notEqual(await find('ada@visitor.example'), ada?.id)
  })
})

onBothEngines('the pause after a notification', (engine) => {
  it('applies to one site, and is not prolonged by a clock that was ahead', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    const note = (siteId: string, nowMs: number) =>
      write(group.store, nowMs, (writer) => recordNoticeSent(writer, siteId))
    const rest = (siteId: string) => write(group.store, clock.now, (writer) => findNoticePauseMs(writer, siteId))
    await note('one', clock.now - 1000)
    await note('one', clock.now - 600_000)
    await note('two', clock.now + 86_400_000)
    assert.deepEqual([await rest('one'), await rest('two'), await rest('three')], [clock.now + 299_000, 0, 0])
  })
})
