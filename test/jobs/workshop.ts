import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readConfig } from '../../src/config/config.ts'
import { createLogger } from '../../src/core/logging.ts'
import type { JobHandler } from '../../src/jobs/handler.ts'
import { createWorker, type Worker } from '../../src/jobs/worker.ts'
import { openContentOf } from '../../src/store/control/groups.ts'
import { findJob, insertJob, type Job, type NewJob } from '../../src/store/jobs/jobs.ts'
import { openStore } from '../../src/store/open.ts'
import type { GroupStore, Store } from '../../src/store/store.ts'
import { createGroup, write } from '../helpers/authoring.ts'
import { createMigratedDatabase, type TestClock, type TestEngine, testStartMs } from '../helpers/harness.ts'
import { testKind } from './test-handlers.ts'

/** Jobs on a test database, which several stores can open as several processes would. */
export interface Workshop {
  store: Store
  clock: TestClock
  location: { dataDir: string; databaseUrl: string | undefined }
  log(): string
  openAnother(): Promise<Store>
  newGroup(database?: string): Promise<GroupStore>
  add(group: GroupStore, job?: Partial<NewJob>): Promise<string>
  job(group: GroupStore, id: string): Promise<Job | undefined>
  newWorker(handlers: JobHandler[], more?: { store?: Store; workers?: number }): Worker
}

export async function workshop(engine: TestEngine): Promise<Workshop> {
  const testDatabase = await createMigratedDatabase(engine)
  const location = { dataDir: testDatabase.env.DATA_DIR, databaseUrl: testDatabase.env.DATABASE_URL || undefined }
  const clock = { now: testStartMs }
  const stores: Store[] = []
  const lines: string[] = []
  const logger = createLogger(readConfig({ LOG_LEVEL: 'trace' }), { write: (line) => void lines.push(line) })

  async function openAnother(): Promise<Store> {
    const store = await openStore({ ...location, clock: () => clock.now, onConnectionError: () => {} })
    stores.push(store)
    return store
  }

  const store = await openAnother()
  after(async () => {
    for (const opened of stores) await opened.close()
    await testDatabase.remove()
  })
  return {
    store,
    clock,
    location,
    log: () => lines.join(''),
    openAnother,
    newGroup: async (database = 'main') =>
      openContentOf(store, await createGroup(store, { name: 'Test group', database }, clock.now)),
    add: (group, job = {}) =>
      write(group, clock.now, (writer) => insertJob(writer, { kind: testKind, payload: {}, ...job })),
    job: findJob,
    newWorker: (handlers, { store: other = store, workers = 2 } = {}) =>
      createWorker({ store: other, handlers, clock: () => clock.now, logger, workers }),
  }
}

/** The effects of jobs: the subjects of the changes they recorded in `finish`. */
export async function effectsIn({ groupId, database }: GroupStore): Promise<string[]> {
  const rows = await database.read
    .selectFrom('changes')
    .select('subject_id')
    .where('group_id', '=', groupId)
    .where('verb', '=', testKind)
    .orderBy('seq')
    .execute()
  return rows.map(({ subject_id }) => subject_id)
}

/** A promise that `open` resolves. */
export function gate(): { open(): void; opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { open: resolve, opened: promise }
}

/** Waits until a condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, 'the condition was not met in time')
    await nextTurn()
  }
}
