import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { type Config, readConfig } from '../../src/config/config.ts'
import type { Container } from '../../src/content/model.ts'
import { createLogger } from '../../src/core/logging.ts'
import { createService, type Service, type ServiceOptions } from '../../src/service.ts'
import type { NewObject } from '../../src/store/content/objects.ts'
import type { Group, NewGroup } from '../../src/store/control/groups.ts'
import { openStore } from '../../src/store/open.ts'
import { type GroupStore, openGroup, type Store } from '../../src/store/store.ts'
import { createApiKey, createContainer, createGroup, createObjects } from './authoring.ts'
import { copySqliteTemplate, createPostgresDatabase } from './templates.ts'

export const engines = ['sqlite', 'postgres'] as const
export type TestEngine = (typeof engines)[number]

/** A clock set by the test. */
export interface TestClock {
  now: number
}

export const testStartMs = Date.UTC(2026, 2, 1, 12)

/** Runs a suite on each engine; fails without a PostgreSQL. */
export function onBothEngines(name: string, suite: (engine: TestEngine) => void): void {
  for (const engine of engines) describe(`${name} (${engine})`, () => suite(engine))
}

/** The same for a heavy suite: `npm test` runs it on SQLite alone, `npm run prove` on both engines. */
export function onBothEnginesInProve(name: string, suite: (engine: TestEngine) => void): void {
  const chosen = process.env.PROVE === '1' ? engines : engines.slice(0, 1)
  for (const engine of chosen) describe(`${name} (${engine})`, () => suite(engine))
}

/** The folder of the files of a bucket. */
export function localFolder({ media: { local } }: Service, bucketName: string): string {
  assert.ok(local, 'files are kept elsewhere')
  return local.storage.folderOf(bucketName)
}

/** A data directory and, on PostgreSQL, a database. */
export interface TestDatabase {
  /** The settings for a service that uses it. */
  env: { DATA_DIR: string; DATABASE_URL: string }
  remove(): Promise<void>
}

async function createTestDatabase(engine: TestEngine, isMigrated: boolean): Promise<TestDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  if (isMigrated && engine === 'sqlite') await copySqliteTemplate(dataDir)
  const postgres =
    engine === 'postgres'
      ? await createPostgresDatabase(isMigrated ? process.env.TEST_POSTGRES_TEMPLATE : undefined)
      : undefined
  return {
    env: { DATA_DIR: dataDir, DATABASE_URL: postgres?.url ?? '' },
    async remove() {
      await postgres?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Empty, for tests of migrations and of the first start. */
export const createEmptyDatabase = (engine: TestEngine): Promise<TestDatabase> => createTestDatabase(engine, false)

/** With the current schema: a copy of the databases migrated once per run. */
export const createMigratedDatabase = (engine: TestEngine): Promise<TestDatabase> => createTestDatabase(engine, true)

/** Opens it beside the server that a test starts. */
export const openTestStore = ({ env }: TestDatabase): Promise<Store> =>
  openStore({
    dataDir: env.DATA_DIR,
    databaseUrl: env.DATABASE_URL || undefined,
    clock: Date.now,
    onConnectionError: () => {},
  })

/** A group with a key, and shortcuts to fill it. */
export interface TestGroup {
  group: Group
  key: string
  store: GroupStore
  collection(name: string, schema: object): Promise<Container>
  integration(type: string, schema: object): Promise<Container>
  add(container: Container, ...objects: NewObject[]): ReturnType<typeof createObjects>
  get(path: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  /** The body as JSON. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<LightMyRequestResponse>
}

export interface Harness {
  engine: TestEngine
  config: Config
  service: Service
  app: FastifyInstance
  clock: TestClock
  /** The whole log as text. */
  log(): string
  newGroup(input?: Partial<NewGroup>): Promise<TestGroup>
  close(): Promise<void>
}

/** A service on a separate empty database. */
export interface HarnessOptions extends Pick<ServiceOptions, 'readsInWorkersOnly'> {
  env?: Record<string, string>
  prepare?: (app: FastifyInstance) => void
}

export async function createHarness(
  engine: TestEngine,
  { env = {}, prepare, ...options }: HarnessOptions = {},
): Promise<Harness> {
  const testDatabase = await createMigratedDatabase(engine)
  const config = readConfig({
    ...testDatabase.env,
    LOG_LEVEL: 'trace',
    RATE_LIMITS: 'anonymous=100000/100000,free=100000/100000,basic=100/200,pro=500/1000,proplus=2000/4000',
    PORT: '0',
    JOB_WORKERS: '0', // tests run jobs explicitly
    ...env,
  })
  const lines: string[] = []
  const logger = createLogger(config, { write: (line) => void lines.push(line) })
  const clock: TestClock = { now: testStartMs }
  const service = await createService(config, { clock: () => clock.now, logger, ...options })
  const { app, store } = service
  prepare?.(app)

  async function newGroup(input: Partial<NewGroup> = {}): Promise<TestGroup> {
    const group = await createGroup(store, { name: 'Test group', ...input }, clock.now)
    const { key } = await createApiKey(store, group.id, 'test', clock.now)
    const groupStore = await openGroup(store, { database: group.database, groupID: group.id })
    const container = (kind: 'collection' | 'integration') => (name: string, schema: object) =>
      createContainer(groupStore, { kind, name, schema }, clock.now)
    return {
      group,
      key,
      store: groupStore,
      collection: container('collection'),
      integration: container('integration'),
      add: (target, ...objects) => createObjects(groupStore, target, objects, clock.now),
      get: (path, headers = {}) =>
        app.inject({ method: 'GET', url: path, headers: { authorization: key, ...headers } }),
      post: (path, body, headers = {}) =>
        app.inject({
          method: 'POST',
          url: path,
          headers: { authorization: key, 'content-type': 'application/json', ...headers },
          payload: JSON.stringify(body),
        }),
    }
  }

  return {
    engine,
    config,
    service,
    app,
    clock,
    log() {
      logger.flush()
      return lines.join('')
    },
    newGroup,
    async close() {
      await service.close()
      await testDatabase.remove()
    },
  }
}

/**
 * Closes it when the current test or suite ends. The runner retains every hook, and through it the service, until the
 * process ends.
 */
export function closeAfter(created: { close(): Promise<void> }): void {
  let open: { close(): Promise<void> } | undefined = created
  after(async () => {
    const closing = open
    open = undefined
    await closing?.close()
  })
}

/** A harness, closed when the current test or suite ends. */
export async function harness(engine: TestEngine, options?: Parameters<typeof createHarness>[1]): Promise<Harness> {
  const created = await createHarness(engine, options)
  closeAfter(created)
  return created
}
