import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { makeApiKey } from '../src/security/tokens.ts'
import { createAuthorizerHandler } from '../src/serverless-authorizer.ts'
import { findTenantOfKey } from '../src/store/control/api-keys.ts'
import { createAuthorizer } from '../src/tenant/authorizer.ts'
import { harness, onBothEngines } from './helpers/harness.ts'

onBothEngines('the serverless authorizer', (engine) => {
  it('returns database, bucketName, groupID and tier for a valid key, and refuses all others', async () => {
    const { newGroup, service } = await harness(engine)
    const { key, group } = await newGroup({ tier: 'pro', database: 'own', bucketName: 'own-bucket' })
    const findHolder = (secretHash: string) => findTenantOfKey(service.store, secretHash, Date.now())
    const handle = createAuthorizerHandler(createAuthorizer({ findHolder, clock: Date.now }))
    assert.deepEqual(await handle({ headers: { authorization: key } }), {
      isAuthorized: true,
      context: { database: 'own', bucketName: 'own-bucket', groupID: group.id, tier: 'pro' },
    })
    for (const headers of [
      {},
      { authorization: '' },
      { authorization: `Bearer ${key}` },
      { authorization: makeApiKey() },
    ]) {
      assert.deepEqual(await handle({ headers }), { isAuthorized: false })
    }
    assert.deepEqual(await handle({}), { isAuthorized: false })
  })
})

describe('the serverless authorizer as a program', () => {
  it('loads only itself, the store and the settings', () => {
    const list = `
      import { registerHooks } from 'node:module'
      const urls = []
      registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
      await import(${JSON.stringify(new URL('../src/serverless-authorizer.ts', import.meta.url).href)})
      console.log(JSON.stringify(urls))`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', list], {
      encoding: 'utf8',
    })
    assert.match(stdout, /^\[/, stderr)
    const loaded: string[] = JSON.parse(stdout)
    const own = loaded.flatMap((url) => url.split('/src/')[1] ?? [])
    assert.ok(own.includes('store/control/api-keys.ts'))
    const rooms = 'delivery|http|manage|payments|transfer|demo|doctor|cli|jobs|metrics'
    const unneeded = new RegExp(`^((${rooms})/|service\\.ts|app\\.ts|tenant/(?!authorizer))`)
    assert.deepEqual(
      own.filter((file) => unneeded.test(file)),
      [],
    )
    assert.deepEqual(
      loaded.filter((url) => /node_modules\/(fastify|stripe|nodemailer|sharp)\//.test(url)),
      [],
    )
  })
})
