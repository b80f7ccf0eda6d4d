import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeApiKey } from '../src/secrets.ts'
import { createAuthorizerHandler } from '../src/serverless-authorizer.ts'
import { findTenantOfKey } from '../src/store/api-keys.ts'
import { createAuthorizer } from '../src/tenant/authorizer.ts'
import { harness, onBothEngines } from './helpers/harness.ts'

onBothEngines('the serverless authorizer', (engine) => {
  it('gives database, bucketName, groupID and tier for a valid key, and refuses all others', async () => {
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
