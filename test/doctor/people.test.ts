import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAdminToken, revokeAdminToken } from '../../src/store/control/admin-tokens.ts'
import { findGroupById, updateGroup } from '../../src/store/control/groups.ts'
import { createUser, listUsers, setDisabled } from '../../src/store/control/users.ts'
import { authoring } from '../helpers/authoring.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { assertOnly, assertSound, patient } from './patient.ts'

const dayMs = 24 * 3600 * 1000

onBothEngines('the doctor’s check of access', (engine) => {
  it('finds that there is no administrator, and advises how to create one', async () => {
    const { examine, service, config } = await patient(engine)
    const [ada] = await listUsers(service.store)
    assert.ok(ada)
    await setDisabled(service.store, ada, true, authoring(0))
    await createUser(service.store, { name: 'A user' }, authoring(0))
    assertOnly(await examine(), {
      check: 'Administrators',
      level: 'attention',
      what: /There is no administrator/,
      commands: ['npx sluice user create "Your name" --administrator', 'npx sluice token create <user id>'],
    })
    assertSound(await examine({ config: { ...config, managePort: 'off' } }))
  })

  it('finds tokens without an expiry that were not used for 90 days', async () => {
    const { examine, service } = await patient(engine)
    const { store } = service
    const [ada] = await listUsers(store)
    assert.ok(ada)
    const created = authoring(Date.now() - 91 * dayMs)
    const idle = await createAdminToken(store, ada, { label: 'old laptop' }, created)
    const used = await createAdminToken(store, ada, {}, created)
    await store.control.write((db) =>
      db.updateTable('admin_tokens').set({ last_used_ms: Date.now() }).where('id', '=', used.id).execute(),
    )
    await createAdminToken(store, ada, { expiresMs: Date.now() + dayMs }, created)
    const revoked = await createAdminToken(store, ada, {}, created)
    await revokeAdminToken(store, revoked.id, { userId: ada.id }, created)
    const gone = await createUser(store, { name: 'Gone' }, created)
    await createAdminToken(store, gone, {}, created)
    await setDisabled(store, gone, true, created)
    const finding = assertOnly(await examine(), {
      check: 'Tokens',
      level: 'attention',
      what: /^1 token of the management API never expires and was not used for 90 days/,
      advice: /--life/,
      commands: [`npx sluice token revoke ${ada.id} ${idle.id}`],
    })
    assert.deepEqual(finding.examples, [`${idle.prefix}... of Ada (old laptop), never used`])
    assert.ok(!JSON.stringify(finding).includes(idle.token))
  })
})

describe('the doctor’s check of deletions', () => {
  it('finds an unfinished deletion of a group, advises how to finish it, and leaves the content unchanged', async () => {
    const { examine, newGroup, service } = await patient('sqlite')
    const { group, store } = await newGroup({ name: "Baker's Shop" })
    await updateGroup(
      service.store,
      await findGroupById(service.store, group.id),
      { frozen: true, deletingMs: Date.UTC(2026, 0, 2) },
      authoring(0),
    )
    await store.database.write((db) =>
      db
        .insertInto('sites')
        .values({
          id: 's',
          group_id: group.id,
          name: '',
          domain_name: '',
          settings: '{}',
          created_ms: 0,
          updated_ms: 0,
        })
        .execute(),
    )
    assertOnly(await examine(), {
      check: 'Deletions',
      level: 'attention',
      what: /The deletion of the group "Baker's Shop" \([0-9a-f]{24}\) began at 2026-01-02T00:00:00\.000Z/,
      commands: [`npx sluice group delete ${group.id} --confirm 'Baker'\\''s Shop'`],
    })
  })
})
