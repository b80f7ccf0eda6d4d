import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { makeId } from '../../src/core/ids.ts'
import { type GroupRole, reaches } from '../../src/core/roles.ts'
import { verbs } from '../../src/manage/index.ts'
import type { Verb } from '../../src/manage/verb.ts'
import { listAdminTokens, revokeAdminToken } from '../../src/store/control/admin-tokens.ts'
import { setDisabled } from '../../src/store/control/users.ts'
import { authoring } from '../helpers/authoring.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { createManaging, type Managing } from '../helpers/manage.ts'
import { type Input, inputFor, requestOf, type Scene, setScene, verbsWithoutCase } from '../helpers/verb-cases.ts'

type Standing = GroupRole | 'administrator' | 'none' | 'unauthenticated'

/** A caller, with their role in this group and in another one. */
interface Caller {
  token: string | null
  here: Standing
  there: Standing
  /** Whether the token is restricted, so that it cannot act for its user. */
  isNarrowed?: boolean
}

interface Stage {
  created: Managing
  here: Scene
  there: Scene
  callers: Record<string, Caller>
}

async function deadTokens({ service, newUser, clock }: Managing, groupId: string) {
  const { store } = service
  const disabled = await newUser({ administrator: true }, { [groupId]: 'owner' })
  await setDisabled(store, disabled.user, true, authoring(clock.now))
  const revoked = await newUser({ administrator: true }, { [groupId]: 'owner' })
  const [listed] = await listAdminTokens(store, { userId: revoked.user.id })
  await revokeAdminToken(store, listed?.id ?? '', {}, authoring(clock.now))
  const expired = await revoked.newToken({ expiresMs: clock.now })
  return { disabled: disabled.token, revoked: revoked.token, expired }
}

async function setStage(engine: TestEngine): Promise<Stage> {
  const created = await createManaging(engine)
  const [here, there] = [await setScene(created), await setScene(created)]
  const { members, tokens, groupId } = here.group
  const administrator = await created.newUser({ administrator: true })
  const dead = await deadTokens(created, groupId)
  const unauthenticated = (token: string | null): Caller => ({
    token,
    here: 'unauthenticated',
    there: 'unauthenticated',
  })
  return {
    created,
    here,
    there,
    callers: {
      'without a token': unauthenticated(null),
      'a viewer': { token: tokens.viewer, here: 'viewer', there: 'none' },
      'an editor': { token: tokens.editor, here: 'editor', there: 'none' },
      'an owner': { token: tokens.owner, here: 'owner', there: 'none' },
      'an administrator': { token: created.admin, here: 'administrator', there: 'administrator' },
      'the owner of another group': { token: there.group.tokens.owner, here: 'none', there: 'owner' },
      'an owner’s token narrowed to viewer': {
        token: await members.owner.newToken({ role: 'viewer' }),
        here: 'viewer',
        there: 'none',
        isNarrowed: true,
      },
      'an administrator’s token narrowed to another group': {
        token: await administrator.newToken({ groupId: there.group.groupId }),
        here: 'none',
        there: 'owner',
        isNarrowed: true,
      },
      'an administrator’s token narrowed to editor': {
        token: await administrator.newToken({ role: 'editor' }),
        here: 'editor',
        there: 'editor',
        isNarrowed: true,
      },
      'a disabled user': unauthenticated(dead.disabled),
      'a revoked token': unauthenticated(dead.revoked),
      'an expired token': unauthenticated(dead.expired),
    },
  }
}

const whoMayDoWhat: Record<Verb['needs'], string[]> = {
  anonymous: ['invitation accept', 'invitation decline'],
  anyone: ['group list', 'whoami', 'invitation list'],
  viewer: [
    'group show', 'site list', 'site show', 'collection list', 'collection show', 'object list', 'object show',
    'object references', 'object versions', 'object diff', 'site draft show', 'site draft diff', 'object draft show', 'object draft diff', 'object draft list',
    'integration list', 'integration show', 'integration-type list', 'integration-type show', 'product list', 'product show',
    'submission list', 'order list', 'order show',
    'submission export', 'event list', 'media list', 'media show', 'media usage', 'job list', 'job show',
    'mail list', 'mail show', 'mail-server show', 'suppression list',
  ],
  editor: [
    'site update', 'site set-page', 'site remove-page', 'site draft save', 'site draft discard', 'site draft publish',
    'site draft schedule', 'object create', 'object update', 'object patch', 'object delete', 'object duplicate',
    'object publish', 'object schedule', 'object unpublish', 'object archive', 'object restore', 'object create-many',
    'object bulk', 'object restore-version', 'object draft save', 'object draft patch', 'object draft discard',
    'object draft publish', 'object draft schedule', 'preview create', 'preview create-site', 'preview list', 'preview revoke', 'product update',
    'sandbox create-product', 'sandbox update-product',
    'submission approve', 'submission reject', 'media add', 'media rename', 'media replace', 'media delete',
    'media derive', 'job retry', 'job cancel', 'integration sync', 'mail retry', 'mail cancel', 'suppression add',
    'suppression remove',
  ],
  owner: [
    'group rename', 'group set-versions', 'member list', 'member add', 'member set-role', 'member remove',
    'member add-service', 'member invitations', 'member withdraw', 'member token', 'member tokens', 'member revoke-token', 'key create', 'key list', 'key revoke', 'key rotate',
    'site create', 'site delete', 'collection create', 'collection update', 'collection change-schema',
    'collection delete', 'audit list', 'media sweep', 'integration connect', 'integration sandbox',
    'integration rotate', 'integration webhook', 'integration secret', 'integration disconnect',
    'integration-type create', 'integration-type change-schema', 'integration-type delete', 'mail test',
    'mail-server set', 'mail-server remove',
  ],
  administrator: [
    'group create', 'group set-tier', 'group freeze', 'group unfreeze', 'group delete', 'user create', 'user list',
    'user disable', 'user enable', 'token create', 'token list', 'token revoke', 'audit list-all', 'jobs',
  ],
} // biome-ignore format: a few lines for each role read better

/** The whole rule, independent of the code under test. */
function expectedStatus({ name, needs, inGroup, isCreation }: Verb, standing: Standing, caller: Caller): number {
  const success = isCreation ? 201 : 200
  if (needs === 'anonymous' && caller.token === null) return success
  if (name === 'invitation accept' && caller.isNarrowed) return 403
  if (standing === 'unauthenticated') return 401
  if (standing === 'administrator') return success
  if (inGroup && standing === 'none') return 404
  if (needs === 'administrator') return 403
  return needs === 'anyone' || needs === 'anonymous' || (standing !== 'none' && reaches(standing, needs))
    ? success
    : 403
}

const codes: Record<number, string> = { 401: 'Unauthorized', 403: 'Forbidden', 404: 'NotFound' }

/** Everything a caller sees of an answer except its request id and the time. */
function seen({ statusCode, headers, body }: LightMyRequestResponse): object {
  const { 'x-request-id': _id, date: _date, ratelimit: _limit, ...rest } = headers
  return { statusCode, rest, body }
}

onBothEnginesInProve('roles', (engine) => {
  let stage: Stage
  before(async () => {
    stage = await setStage(engine)
  })
  after(() => stage.created.close())

  const call = (verb: Verb, input: Input, { token }: Caller) => {
    const [method, path, body] = requestOf(verb, input)
    return stage.created.call(method, path, body, token)
  }

  it('are tested with every verb', () => assert.deepEqual(verbsWithoutCase(), []))

  it('are required as listed here: no verb becomes available to more people by mistake', () => {
    const needed = Map.groupBy(verbs, ({ needs }) => needs)
    for (const [role, names] of Object.entries(whoMayDoWhat)) {
      const found = needed.get(role as Verb['needs'])?.map(({ name }) => name)
      assert.deepEqual(found?.toSorted(), names.toSorted(), role)
    }
    assert.equal(verbs.length, Object.values(whoMayDoWhat).flat().length)
  })

  /** Every caller's attempt: in both groups, or for the service as a whole. */
  function* attempts(verb: Verb) {
    for (const where of verb.inGroup ? (['here', 'there'] as const) : (['here'] as const)) {
      for (const [who, caller] of Object.entries(stage.callers)) {
        const expected = expectedStatus(verb, caller[where], caller)
        yield { scene: stage[where], what: `${who}, ${where}`, caller, expected, isAllowed: expected < 300 }
      }
    }
  }

  // Before the allowed calls, which fill the tables that each of these tests reads twice.
  for (const verb of verbs) {
    it(`refuse "${verb.name}" below ${verb.needs}, without any change`, async () => {
      const inputs = new Map<Scene, Input>()
      for (const scene of [stage.here, stage.there]) {
        const { groupId } = scene.group
        inputs.set(scene, { ...(await inputFor(verb, scene)), ...(verb.inGroup && { groupId }) })
      }
      await assertUnchanged(stage.created.service.store, async () => {
        for (const { scene, what, caller, expected, isAllowed } of attempts(verb)) {
          if (isAllowed) continue
          const answer = await call(verb, inputs.get(scene) ?? {}, caller)
          assert.equal(answer.statusCode, expected, `${what}: ${answer.body}`)
          assert.equal(answer.json().code, codes[expected], what)
          if (expected !== 404) continue
          const nowhere = await call(verb, { ...inputs.get(scene), groupId: makeId() }, caller)
          assert.deepEqual(seen(answer), seen(nowhere), `${what}: as if the group did not exist`)
        }
      })
    })
  }

  for (const verb of verbs) {
    it(`allow "${verb.name}" to ${verb.needs} and above`, async () => {
      for (const { scene, what, caller, expected, isAllowed } of attempts(verb)) {
        if (!isAllowed) continue
        const answer = await call(verb, await inputFor(verb, scene), caller)
        assert.equal(answer.statusCode, expected, `${what}: ${answer.body}`)
      }
    })
  }

  it('show each user their own groups only', async () => {
    const { here, there, callers, created } = stage
    const ids = [here.group.groupId, there.group.groupId]
    for (const [who, caller] of Object.entries(callers)) {
      if (caller.here === 'unauthenticated') continue
      const { items } = await created.ask('GET', '/manage/groups', undefined, caller.token)
      const shown = items.map(({ _id }: { _id: string }) => _id).filter((id: string) => ids.includes(id))
      const own = ids.filter((_, position) => caller[position === 0 ? 'here' : 'there'] !== 'none')
      assert.deepEqual(shown, own, who)
    }
  })

  it('let an editor create no key, and see no member and no other group', async () => {
    const { created } = stage
    // A new group, because the stage's editor has accepted invitations to others by now.
    const { groupId, tokens } = await created.newManagedGroup({ name: 'Quiet' })
    for (const [method, part] of [
      ['POST', 'keys'],
      ['GET', 'keys'],
      ['GET', 'members'],
      ['GET', 'tokens'],
      ['GET', 'audit'],
    ] as const) {
      const answer = await created.call(method, `/manage/groups/${groupId}/${part}`, undefined, tokens.editor)
      assert.equal(answer.statusCode, 403, part)
    }
    const { items } = await created.ask('GET', '/manage/groups', undefined, tokens.editor)
    assert.deepEqual(
      items.map(({ _id }: { _id: string }) => _id),
      [groupId],
    )
  })
})
