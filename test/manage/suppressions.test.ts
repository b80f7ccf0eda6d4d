import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertUnchanged } from '../helpers/dump.ts'
import { assertRefused } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'

async function opened(engine: TestEngine) {
  const created = await managing(engine)
  const group = await created.newManagedGroup()
  return { ...created, group, path: `/manage/groups/${group.groupId}/suppressions` }
}

onBothEngines('suppressed addresses', (engine) => {
  it('are added, listed in order and by pages, and removed, ignoring case', async () => {
    const { ask, call, path, group, newManagedGroup } = await opened(engine)
    const { editor, viewer } = group.tokens
    const added = await ask('POST', path, { address: 'Gone@BÜCHER.example', reason: 'She asked for it.' }, editor)
    const gone = { address: 'gone@xn--bcher-kva.example', reason: 'She asked for it.' }
    assert.deepEqual(added, { ...gone, createdAt: new Date(testStartMs).toISOString() })
    await ask('POST', path, { address: 'ann@shop.example' }, editor)
    const { items, totalCount } = await ask('GET', path, undefined, viewer)
    assert.deepEqual(
      [items[0].address, items[0].reason, items[1]],
      ['ann@shop.example', 'It was added by hand.', added],
    )
    assert.equal(totalCount, 2)
    assert.deepEqual(await ask('GET', `${path}?limit=1&skip=1`), { items: [added], totalCount: 2 })
    const other = await newManagedGroup()
    assert.equal((await ask('GET', `/manage/groups/${other.groupId}/suppressions`)).totalCount, 0)
    assert.deepEqual(await ask('POST', `${path}/remove`, { address: 'GONE@bücher.example' }, editor), { done: true })
    assertRefused(await call('POST', `${path}/remove`, { address: 'gone@bücher.example' }), 404, /not on the list/)
    assert.equal((await ask('GET', path)).totalCount, 1)
  })

  it('keep their first reason, and must be addresses', async () => {
    const { ask, call, path, service } = await opened(engine)
    const first = await ask('POST', path, { address: 'ann@shop.example', reason: '550 No such user' })
    await assertUnchanged(service.store, async () => {
      assert.deepEqual(await ask('POST', path, { address: 'ANN@shop.example', reason: 'Another' }), first)
      assertRefused(await call('POST', path, { address: 'ann' }), 400, /must be one e-mail address/)
      assertRefused(await call('POST', path, { address: 'ann@shop.example', reason: '' }), 400, /reason/)
    })
  })

  it('get no e-mail until they are removed and the e-mail is retried', async () => {
    const { ask, path, service, group } = await opened(engine)
    const mail = `/manage/groups/${group.groupId}/mail`
    await ask('POST', path, { address: 'ann@shop.example', reason: 'She asked for it.' })
    const { _id } = await ask('POST', `${mail}/test`, { to: 'Ann@shop.example' })
    await service.worker.runDue()
    const { state, problem } = await ask('GET', `${mail}/${_id}`)
    assert.equal(state, 'failed')
    assert.match(problem, /She asked for it/)
    await ask('POST', `${path}/remove`, { address: 'ann@shop.example' })
    await ask('POST', `${mail}/${_id}/retry`)
    await service.worker.runDue()
    assert.equal((await ask('GET', `${mail}/${_id}`)).state, 'sent')
  })
})
