import { hash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Engine } from '../src/store/engine/database.ts'
import { type PostgresServer, startPostgres } from '../test/helpers/postgres-server.ts'
import { type Dataset, type DatasetEnv, fillDataset } from './fill.ts'

export interface DatasetOptions {
  items: number
  /** Whether each item has a picture. */
  hasPictures?: boolean
}

/** Filled databases, kept for the next run because filling a large one takes long. */
export interface Stock extends AsyncDisposable {
  /** Read-only; filled when it is missing. */
  get(engine: Engine, options: DatasetOptions): Promise<Dataset>
  /** A new one that may be written to and is removed when it is disposed of. */
  createTemporary(engine: Engine, options: DatasetOptions): Promise<Dataset & AsyncDisposable>
}

export interface StockOptions {
  folder: string
  /** Of a running PostgreSQL; without it one is started on demand, with its data in the folder. */
  postgresUrl?: string | undefined
  progress(text: string): void
}

const root = join(import.meta.dirname, '..')
/** What a filled database depends on: when one of them changes, it is filled again. */
const sources = ['src/store/schema/**/*.ts', 'src/content/index-keys.ts', 'bench/content.ts']
/** Including its index, searchable text and change records. */
const diskBytesPerItem = 12_000
const gigabyte = 1024 ** 3

function fingerprint(): string {
  const files = globSync(sources, { cwd: root }).toSorted()
  return hash('sha256', files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')).slice(0, 12)
}

function checkDiskSpace(folder: string, items: number): void {
  const { bavail, bsize } = statfsSync(folder)
  const [needed, free] = [(items * diskBytesPerItem) / gigabyte, (bavail * bsize) / gigabyte]
  if (needed > free)
    throw new Error(
      `To hold ${items.toLocaleString('en')} items takes about ${needed.toFixed(1)} GB, and ${folder} has ${free.toFixed(1)} GB left. Measure smaller sizes (--sizes) or give another folder (--data).`,
    )
}

async function runStatements(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

export function openStock({ folder, postgresUrl, progress }: StockOptions): Stock {
  const current = join(folder, `stock-${fingerprint()}`)
  mkdirSync(current, { recursive: true })
  for (const old of globSync('stock-*', { cwd: folder }).map((name) => join(folder, name))) {
    if (old !== current) rmSync(old, { recursive: true, force: true })
  }
  let server: Promise<PostgresServer> | undefined

  async function urlOf(database: string): Promise<string> {
    if (postgresUrl === undefined) server ??= startPostgres({ keptIn: join(current, 'postgres'), isDurable: true })
    const url = new URL(postgresUrl ?? (await server)?.url ?? '')
    url.pathname = `/${database}`
    return url.href
  }

  /** On a shared server the name must be unique to the folder. */
  const databaseOf = (dataDir: string): string => `bench_${hash('sha256', dataDir).slice(0, 12)}`

  async function envOf(engine: Engine, dataDir: string): Promise<DatasetEnv> {
    return { DATA_DIR: dataDir, DATABASE_URL: engine === 'postgres' ? await urlOf(databaseOf(dataDir)) : '' }
  }

  async function removeDataset(engine: Engine, dataDir: string): Promise<void> {
    rmSync(dataDir, { recursive: true, force: true })
    if (engine === 'postgres')
      await runStatements(await urlOf('postgres'), `drop database if exists ${databaseOf(dataDir)} with (force)`)
  }

  async function createDataset(engine: Engine, dataDir: string, options: DatasetOptions): Promise<Dataset> {
    checkDiskSpace(folder, options.items)
    await removeDataset(engine, dataDir) // left by an interrupted run
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    if (engine === 'postgres') await runStatements(await urlOf('postgres'), `create database ${databaseOf(dataDir)}`)
    const env = await envOf(engine, dataDir)
    const dataset = await fillDataset(env, options, (done) =>
      progress(`filling ${engine}: ${done.toLocaleString('en')} of ${options.items.toLocaleString('en')} items`),
    )
    // What PostgreSQL's housekeeping would have done by the next day.
    if (engine === 'postgres') await runStatements(env.DATABASE_URL, 'vacuum (analyze)', 'checkpoint')
    return dataset
  }

  return {
    async get(engine, { items, hasPictures = false }) {
      const dataDir = join(current, `${engine}-${items}${hasPictures ? '-pictures' : ''}`)
      const marker = join(dataDir, 'bench.json')
      if (existsSync(marker)) {
        const { env: _, ...dataset } = JSON.parse(readFileSync(marker, 'utf8')) as Dataset
        return { ...dataset, env: await envOf(engine, dataDir) }
      }
      const dataset = await createDataset(engine, dataDir, { items, hasPictures })
      writeFileSync(marker, JSON.stringify(dataset), { mode: 0o600 })
      return dataset
    },
    async createTemporary(engine, options) {
      const dataDir = join(current, `${engine}-temporary`)
      const dataset = await createDataset(engine, dataDir, options)
      return { ...dataset, [Symbol.asyncDispose]: () => removeDataset(engine, dataDir) }
    },
    async [Symbol.asyncDispose]() {
      await (await server)?.stop()
    },
  }
}
