import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { makeId } from '../../src/core/ids.ts'
import { verbs } from '../../src/manage/index.ts'
import type { Verb } from '../../src/manage/verb.ts'
import { hashSecret, makeAdminToken, makeApiKey } from '../../src/security/tokens.ts'
import { assertUnchanged, dumpTables } from '../helpers/dump.ts'
import { onBothEngines, onBothEnginesInProve } from '../helpers/harness.ts'
import { createManaging, type Managing } from '../helpers/manage.ts'
import { type Input, inputFor, requestOf, type Scene, setScene } from '../helpers/verb-cases.ts'

const canary = 'canary'

/** Ids in the group: as a named input, or inside items and settings. */
const takesIds = ({ inGroup, input }: Verb): boolean =>
  inGroup && Object.keys(input.properties).some((name) => name !== 'groupId' && /Id$|^items$|^settings$/.test(name))

const idsIn = (input: Input): string[] => [...new Set(JSON.stringify(input).match(/\b[0-9a-f]{24}\b/g))]

/** The same input with other ids. */
const withIds = (input: Input, ids: ReadonlyMap<string, string>): Input =>
  JSON.parse(JSON.stringify(input).replace(/\b[0-9a-f]{24}\b/g, (id) => ids.get(id) ?? id))

/** The answer with all ids replaced. */
function withoutIds({ statusCode, headers, body }: LightMyRequestResponse, ids: Iterable<string>): object {
  const { 'x-request-id': _id, date: _date, ratelimit: _limit, ...rest } = headers
  let text = body
  for (const id of ids) text = text.replaceAll(id, '<id>')
  return { statusCode, headers: rest, text }
}

onBothEngines('groups that share a database', (engine) => {
  let created: Managing
  let ours: Scene
  let theirs: Scene
  const answers: string[] = []
  before(async () => {
    created = await createManaging(engine)
    ours = await setScene(created, 'ours')
    theirs = await setScene(created, canary)
  })
  after(() => created.close())

  /** Calls as the owner of our group, and records the answers. */
  async function callAsOwner(verb: Verb, input: Input): Promise<LightMyRequestResponse> {
    const [method, path, body] = requestOf(verb, input)
    const answer = await created.call(method, path, body, ours.group.tokens.owner)
    answers.push(answer.body)
    return answer
  }

  for (const verb of verbs.filter(takesIds)) {
    it(`"${verb.name}" answers another group’s ids like ids that do not exist`, async () => {
      const { groupId: _theirs, ...foreign } = await inputFor(verb, theirs)
      const ids = new Map(idsIn(foreign).map((id) => [id, makeId()]))
      const { groupId } = ours.group
      assert.ok(ids.size > 0)
      await assertUnchanged(created.service.store, async () => {
        const real = await callAsOwner(verb, { groupId, ...foreign })
        const madeUp = await callAsOwner(verb, { groupId, ...withIds(foreign, ids) })
        assert.deepEqual(withoutIds(real, ids.keys()), withoutIds(madeUp, ids.values()))
        if (verb.method !== 'GET') assert.ok([400, 404].includes(real.statusCode), real.body)
      })
    })
  }

  it('answers another group’s integration like one that does not exist', async () => {
    await theirs.group.integration(canary, { name: { type: 'text' } })
    const path = (type: string) => `/manage/groups/${ours.group.groupId}/integrations/${type}/products`
    const [foreign, none] = [
      await created.call('GET', path(canary), undefined, ours.group.tokens.owner),
      await created.call('GET', path('nothing'), undefined, ours.group.tokens.owner),
    ]
    assert.equal(foreign.statusCode, 404)
    assert.equal(foreign.body, none.body)
  })

  it('never reveal anything of one group in an answer to the other', async () => {
    for (const verb of verbs) {
      const answer = await callAsOwner(verb, await inputFor(verb, ours))
      assert.notEqual(answer.statusCode, 500, verb.name)
    }
    const { groupId, tokens } = ours.group
    for (const part of [
      'audit',
      'events',
      'members',
      'tokens',
      'keys',
      'sites',
      'collections',
      'previews',
      'submissions',
    ])
      answers.push((await created.call('GET', `/manage/groups/${groupId}/${part}`, undefined, tokens.owner)).body)
    assert.ok(answers.length > verbs.length && answers.some((body) => body.includes('ours-')))
    for (const body of answers) assert.ok(!body.includes(canary) && !body.includes(theirs.group.groupId), body)
  })
})

onBothEnginesInProve('secrets', (engine) => {
  let created: Managing
  let scene: Scene
  const answers: string[] = []
  const secrets = new Set<string>()
  before(async () => {
    created = await createManaging(engine)
    scene = await setScene(created)
    for (const secret of [created.admin, scene.group.key, ...Object.values(scene.group.tokens)]) secrets.add(secret)
    await exerciseAll()
    await misplaceSecrets()
  })
  after(() => created.close())

  const remember = ({ body }: LightMyRequestResponse) => void answers.push(body)

  async function exerciseAll(): Promise<void> {
    /** The caller who receives a secret; by default the administrator. */
    const callers: Record<string, string | null> = {
      'member add': scene.group.tokens.owner,
      'invitation accept': null,
    }
    for (const verb of verbs) {
      const [method, path, body] = requestOf(verb, await inputFor(verb, scene))
      const answer = await created.call(method, path, body, callers[verb.name])
      assert.ok(answer.statusCode < 300, `${verb.name}: ${answer.body}`)
      const { token, key } = answer.body.startsWith('{') ? answer.json().data : {}
      for (const secret of [token, key]) if (secret?.startsWith('slc_')) secrets.add(secret)
      remember(answer)
    }
  }

  /** Sends secrets to wrong places: another API, a path, a query string, a body. */
  async function misplaceSecrets(): Promise<void> {
    const { groupId } = scene.group
    const { app, call } = created
    for (const secret of [...secrets, makeApiKey(), makeAdminToken()]) {
      for (const authorization of [secret, `Bearer ${secret}`])
        for (const url of ['/tenant/siteDetails?siteId=x', '/manage/whoami', '/manage/groups/x', '/nope'])
          remember(await app.inject({ url, headers: { authorization } }))
      remember(await scene.group.get(`/tenant/preview?token=${secret}x`))
      for (const path of [`keys/${secret}x/revoke`, `tokens/${secret}/revoke`, `previews/${secret}/revoke`])
        remember(await call('POST', `/manage/groups/${groupId}/${path}`))
      remember(await call('GET', `/manage/groups/${secret}`))
      remember(await call('GET', `/manage/groups/${groupId}/objects/${secret}`))
      remember(await call('GET', `/manage/groups/${groupId}/sites?${secret}`.slice(0, -20)))
      remember(await call('POST', `/manage/groups/${groupId}/previews`, { objectId: secret }))
      remember(await call('POST', `/manage/groups/${groupId}/keys`, { label: [secret] }))
    }
  }

  it('are shown once, when created, and in no list', () => {
    const made = verbs.filter(
      ({ isCreation, answer }) => isCreation && /shown only this once/.test(JSON.stringify(answer)),
    )
    assert.ok(secrets.size > made.length)
    for (const secret of secrets) {
      const showing = answers.filter((body) => body.includes(secret))
      assert.ok(showing.length <= 1, `shown ${showing.length} times: ${showing.at(-1)}`)
    }
    assert.equal(answers.filter((body) => /slc_\w+_\w{43}/.test(body)).length, made.length)
  })

  it('are stored as hashes only, and are in no audit record or note', async () => {
    const dump = (await dumpTables(created.service.store)).join('\n')
    for (const secret of secrets) {
      assert.ok(!dump.includes(secret) && !dump.includes(secret.split('_')[2] ?? secret))
      assert.ok(dump.includes(hashSecret(secret)))
    }
    assert.doesNotMatch(dump, /slc_\w+_\w{5}/)
  })

  it('are in no log, at any level', () => {
    assert.match(created.log(), /"route":"\/manage\/groups\/:groupId\/keys"/)
    assert.doesNotMatch(created.log(), /slc_(?!(live|preview|admin|invite)_\[secret\])/)
    for (const secret of secrets) assert.ok(!created.log().includes(secret.split('_')[2] ?? secret))
  })
})

describe('the files of SQLite', () => {
  it('contain no secret, not even in pages not yet written back', async () => {
    const created = await createManaging('sqlite')
    after(() => created.close())
    const { groupId, key, tokens } = await created.newManagedGroup()
    const { key: second } = await created.ask('POST', `/manage/groups/${groupId}/keys`)
    const folders = [created.config.dataDir, join(created.config.dataDir, 'databases')]
    const files = (
      await Promise.all(folders.map(async (folder) => (await readdir(folder)).map((name) => join(folder, name))))
    )
      .flat()
      .filter((name) => /\.sqlite(-wal)?$/.test(name))
    assert.ok(files.length >= 3, files.join())
    for (const file of files) {
      const bytes = await readFile(file)
      for (const secret of [key, second, created.admin, tokens.owner]) {
        assert.ok(!bytes.includes(secret), file)
        assert.ok(!bytes.includes(secret.split('_')[2] ?? secret), file)
      }
    }
  })
})
