import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createAdminToken } from '../../src/store/control/admin-tokens.ts'
import { createUser } from '../../src/store/control/users.ts'
import { authoring } from './authoring.ts'
import { createMigratedDatabase, openTestStore, type TestDatabase } from './harness.ts'
import { type ServerProcess, startServer } from './process.ts'

const run = promisify(execFile)

/** A real server with one group, managed with curl only. */
export interface ManagedByCurl {
  server: ServerProcess
  /** Returns curl's output. */
  curl(...args: string[]): Promise<string>
  /** Calls the management API below the group and returns the `data` of the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  manage(method: string, path: string, body?: object): Promise<any>
  /** Uploads with `curl -F file=@…` and returns the item. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  upload(path: string): Promise<any>
  /** Calls the delivery API. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  deliver(path: string): Promise<any>
  /** Stops the server and removes its data. */
  close(): Promise<void>
}

/** In this process: a command of the program would start two more. */
async function createAdministrator(testDatabase: TestDatabase): Promise<string> {
  const store = await openTestStore(testDatabase)
  try {
    const user = await createUser(store, { name: 'Ada', administrator: true }, authoring(Date.now()))
    return (await createAdminToken(store, user, {}, authoring(Date.now()))).token
  } finally {
    await store.close()
  }
}

/** On SQLite, with its own data directory. */
export async function manageByCurl(env: Record<string, string> = {}): Promise<ManagedByCurl> {
  const testDatabase = await createMigratedDatabase('sqlite')
  const token = await createAdministrator(testDatabase)
  const server = await startServer({ ...testDatabase.env, ...env })

  const curl = async (...args: string[]) => (await run('curl', ['-sS', ...args], { maxBuffer: 64 * 1024 ** 2 })).stdout

  const ask = async (authorization: string, path: string, ...args: string[]) => {
    const answer = JSON.parse(await curl('-H', `Authorization: ${authorization}`, ...args, server.baseUrl + path))
    assert.ok(answer.success, `${path}: ${answer.error}`)
    return answer.data
  }
  const call = (method: string, path: string, body?: object) => {
    const sent = body ? ['-H', 'Content-Type: application/json', '-d', JSON.stringify(body)] : []
    return ask(`Bearer ${token}`, `/manage${path}`, '-X', method, ...sent)
  }

  const { _id: groupId } = await call('POST', '/groups', { name: 'Harbour Bakery', tier: 'pro' })
  const { key } = await call('POST', `/groups/${groupId}/keys`, { label: 'website' })
  return {
    server,
    curl,
    manage: (method, path, body) => call(method, `/groups/${groupId}${path}`, body),
    upload: (path) => ask(`Bearer ${token}`, `/manage/groups/${groupId}/media`, '-F', `file=@${path}`),
    deliver: (path) => ask(key, path),
    async close() {
      await server.stop()
      await testDatabase.remove()
    },
  }
}
