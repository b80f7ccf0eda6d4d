import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import fc from 'fast-check'
import { type SecretId, seal, unseal } from '../../src/security/sealing.ts'
import { createVault } from '../../src/security/vault.ts'
import { deleteSecrets, readSealed, secretFields, writeSealed } from '../../src/store/content/secrets.ts'
import { write } from '../helpers/authoring.ts'
import { dumpTables } from '../helpers/dump.ts'
import { harness, onBothEngines } from '../helpers/harness.ts'

const key = randomBytes(32)
const id: SecretId = ['group', 'integration', 'secretKey']

it('opens only with the same key for the same group, subject and field', () => {
  const text = fc.string({ unit: 'binary', maxLength: 300 })
  fc.assert(
    fc.property(text, fc.tuple(text, text, text), fc.tuple(text, text, text), (content, one, other) => {
      const sealed = seal(key, one, Buffer.from(content))
      assert.deepEqual(unseal(key, one, sealed), Buffer.from(content))
      assert.equal(unseal(randomBytes(32), one, sealed), undefined)
      if (JSON.stringify(one) !== JSON.stringify(other)) assert.equal(unseal(key, other, sealed), undefined)
    }),
  )
})

it('does not open when any byte is changed or missing', () => {
  const sealed = seal(key, id, Buffer.from('sk_test_canary'))
  const bytes = Buffer.from(sealed.slice(3), 'base64')
  for (let position = 0; position < bytes.length; position += 1) {
    const changed = Buffer.from(bytes)
    changed[position] = (changed[position] ?? 0) ^ 1
    assert.equal(unseal(key, id, `v1.${changed.toString('base64')}`), undefined)
    assert.equal(unseal(key, id, `v1.${bytes.subarray(0, position).toString('base64')}`), undefined)
  }
  assert.equal(unseal(key, id, sealed.slice(3)), undefined, 'of an unknown form')
})

it('seals the same text differently each time', () => {
  assert.notEqual(seal(key, id, Buffer.from('x')), seal(key, id, Buffer.from('x')))
})

onBothEngines('the vault', (engine) => {
  const canary = 'sk_test_canary_0123456789'

  it('returns the latest value stored', async () => {
    const { newGroup, clock } = await harness(engine)
    const { store } = await newGroup()
    const vault = createVault(key)
    assert.equal(await vault.read(store, 'one', 'secretKey'), undefined)
    for (const text of ['first', 'ä\u0000 \u{1F511}', canary]) {
      await write(store, clock.now, (writer) => vault.put(writer, 'one', 'secretKey', text))
      assert.equal(await vault.read(store, 'one', 'secretKey'), text)
    }
    assert.deepEqual(await secretFields(store, 'one'), ['secretKey'])
    await write(store, clock.now, (writer) => deleteSecrets(writer, 'one'))
    assert.equal(await vault.read(store, 'one', 'secretKey'), undefined)
  })

  it('leaves nothing readable in the database', async () => {
    const { newGroup, clock, service } = await harness(engine)
    const { store } = await newGroup()
    await write(store, clock.now, (writer) => createVault(key).put(writer, 'one', 'secretKey', canary))
    const dump = (await dumpTables(service.store)).join('\n')
    assert.ok(dump.includes('"field":"secretKey"'))
    for (const form of [
      canary,
      Buffer.from(canary).toString('base64').slice(0, 20),
      Buffer.from(canary).toString('hex'),
    ])
      assert.ok(!dump.includes(form))
  })

  it('does not open a secret that was moved to another group, subject or field', async () => {
    const { newGroup, clock } = await harness(engine)
    const [mine, theirs] = [(await newGroup()).store, (await newGroup()).store]
    const vault = createVault(key)
    await write(mine, clock.now, (writer) => vault.put(writer, 'one', 'secretKey', canary))
    await write(theirs, clock.now, (writer) => vault.put(writer, 'two', 'secretKey', 'other'))
    const sealed = (await readSealed(mine, 'one', 'secretKey')) ?? ''
    await write(theirs, clock.now, (writer) => writeSealed(writer, 'one', 'secretKey', sealed))
    await assert.rejects(vault.read(theirs, 'one', 'secretKey'), /cannot be opened/)
    // Not even with its former group's key, which is bound to that group, too.
    const dataKey = (await readSealed(mine, mine.groupId, 'dataKey')) ?? ''
    await write(theirs, clock.now, (writer) => writeSealed(writer, theirs.groupId, 'dataKey', dataKey))
    await assert.rejects(vault.read(theirs, 'one', 'secretKey'), /cannot be opened/)
    for (const [subject, field] of [
      ['two', 'secretKey'],
      ['one', 'webhookSecret'],
    ] as const) {
      await write(mine, clock.now, (writer) => writeSealed(writer, subject, field, sealed))
      await assert.rejects(vault.read(mine, subject, field), /cannot be opened/)
    }
    assert.equal(await vault.read(mine, 'one', 'secretKey'), canary)
  })

  it('advises what to do when the master key has changed, and reveals nothing of the secret', async () => {
    const { newGroup, clock } = await harness(engine)
    const { store } = await newGroup()
    await write(store, clock.now, (writer) => createVault(key).put(writer, 'one', 'secretKey', canary))
    await assert.rejects(createVault(randomBytes(32)).read(store, 'one', 'secretKey'), (error: Error) => {
      assert.match(error.message, /Is the master key the one .* then set them up again/)
      assert.ok(!error.message.includes(canary))
      return true
    })
  })

  it('can be used under another master key once nothing sealed by the lost one remains', async () => {
    const { newGroup, clock } = await harness(engine)
    const { store } = await newGroup()
    await write(store, clock.now, (writer) => createVault(key).put(writer, 'one', 'secretKey', canary))
    const other = createVault(randomBytes(32))
    const enter = () => write(store, clock.now, (writer) => other.put(writer, 'two', 'secretKey', 'new'))
    await assert.rejects(enter(), /cannot be opened/)
    assert.equal(await createVault(key).read(store, 'one', 'secretKey'), canary, 'a wrong key has destroyed nothing')
    await write(store, clock.now, (writer) => deleteSecrets(writer, 'one'))
    await enter()
    assert.equal(await other.read(store, 'two', 'secretKey'), 'new')
  })
})
