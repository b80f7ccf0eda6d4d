import { createAdminToken } from '../../src/store/control/admin-tokens.ts'
import { createUser } from '../../src/store/control/users.ts'
import { authoring } from '../helpers/authoring.ts'
import { createMigratedDatabase, type TestClock, type TestEngine, testStartMs } from '../helpers/harness.ts'
import { encode, type Method } from '../helpers/manage.ts'
import { type Instance, startInstance } from './instances.ts'
import { openReference, type Reference } from './reference.ts'

/** Two processes with a cache and a reference without one, on the same database and under the same clock. */
export interface Cluster {
  env: Record<string, string>
  clock: TestClock
  instances: readonly [Instance, Instance]
  reference: Reference
  setClock(ms: number): Promise<void>
  /** Calls the management API of an instance, or of the third process. */
  manage(at: Instance | 'elsewhere', method: Method, path: string, body?: object): Promise<Managed>
  close(): Promise<void>
}

export interface Managed {
  status: number
  body: string
}

/** Small, so that entries are evicted, too. */
const cacheMegabytes = ['4', '1'] as const

/** With SQLite, the first process then builds no content in its main thread. */
const inThreads = { READ_THREADS: '2', LEAVES_READS_TO_THREADS: 'yes' }

export async function startCluster(engine: TestEngine, { usesThreads = false } = {}): Promise<Cluster> {
  const testDatabase = await createMigratedDatabase(engine)
  const { env } = testDatabase
  const clock: TestClock = { now: testStartMs }
  const reference = await openReference(env, clock)
  const { store, app } = reference.service
  const user = await createUser(store, { name: 'The administrator', administrator: true }, authoring(clock.now))
  const { token } = await createAdminToken(store, user, {}, authoring(clock.now))
  const start = (name: string, megabytes: string, settings = {}) =>
    startInstance(name, { ...env, ...settings, ANSWER_CACHE_MB: megabytes }, clock.now)
  const instances = await Promise.all([
    start('P', cacheMegabytes[0], usesThreads ? inThreads : {}),
    start('Q', cacheMegabytes[1]),
  ])

  async function manageElsewhere(method: Method, path: string, body?: object): Promise<Managed> {
    const { payload, headers } = await encode(body)
    const answer = await app.inject({
      method,
      url: path,
      headers: { ...headers, authorization: `Bearer ${token}` },
      ...(payload !== undefined && { payload }),
    })
    return { status: answer.statusCode, body: answer.body }
  }

  return {
    env,
    clock,
    instances,
    reference,
    async setClock(ms) {
      clock.now = ms
      await Promise.all(instances.map((instance) => instance.setClock(ms)))
    },
    async manage(at, method, path, body) {
      if (at === 'elsewhere') return manageElsewhere(method, path, body)
      const headers = { authorization: `Bearer ${token}` }
      const answer = await at.send(path, { method, headers, ...(body && { body }) })
      return { status: answer.status, body: answer.body.toString() }
    },
    async close() {
      await Promise.all(instances.map((instance) => instance.stop()))
      await reference.close()
      await testDatabase.remove()
    },
  }
}
