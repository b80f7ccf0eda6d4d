import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { seedDemo, writeDemoFile } from '../../src/demo/seed.ts'
import { deriveKind } from '../../src/media/job-kinds.ts'
import { createService } from '../../src/service.ts'
import { defaultDatabase } from '../../src/store/control/groups.ts'
import { engines, type TestDatabase, type TestEngine } from './harness.ts'
import { createPostgresDatabase, createTemplateDatabase } from './templates.ts'

const postgresTemplate = 'demo'
const dataDirOf = (folder: string, engine: TestEngine): string => join(folder, engine)

async function createDemo(engine: TestEngine, dataDir: string, databaseUrl: string): Promise<void> {
  const env = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent', JOB_WORKERS: '0' }
  const service = await createService(readConfig(env))
  const demo = await seedDemo({ ...service, clock: Date.now })
  await writeDemoFile(dataDir, { baseUrl: 'http://127.0.0.1:4000', ...demo })
  // Smaller pictures take 15 CPU seconds, and do not depend on the engine.
  if (engine === 'postgres') {
    const { write } = await service.store.content(defaultDatabase)
    await write((db) => db.deleteFrom('jobs').where('kind', '=', deriveKind).execute())
  }
  await service.worker.runDue()
  await service.close()
}

/** Creates the demo on each engine, once for the whole run: its jobs are done, on SQLite its pictures are derived. */
export async function createDemoTemplates(folder: string, serverUrl: string): Promise<void> {
  const urls = { sqlite: '', postgres: await createTemplateDatabase(serverUrl, postgresTemplate) }
  for (const engine of engines) await createDemo(engine, dataDirOf(folder, engine), urls[engine])
}

/** A copy of the demo: `serve --demo` finds it there. */
export async function createDemoDatabase(engine: TestEngine): Promise<TestDatabase> {
  const { TEST_DEMO_TEMPLATES: folder } = process.env
  if (!folder) throw new Error('TEST_DEMO_TEMPLATES is not set: run the tests with "npm test".')
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-demo-'))
  await cp(dataDirOf(folder, engine), dataDir, { recursive: true })
  const database = engine === 'postgres' ? await createPostgresDatabase(postgresTemplate) : undefined
  return {
    env: { DATA_DIR: dataDir, DATABASE_URL: database?.url ?? '' },
    async remove() {
      await database?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
