import { hash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Engine } from '../src/store/engine/database.ts'
import { type PostgresServer, startPostgres } from '../test/helpers/postgres-server.ts'
import { fillPlace, type Place, type PlaceEnv } from './fill.ts'

/** How much content a place has. */
export interface Holding {
  items: number
  /** Whether each item shows a picture. */
  hasPictures?: boolean
}

/** Places with content in them: making a large one takes long, so they are kept for the next run. */
export interface Stock extends AsyncDisposable {
  /** To be read only. */
  have(engine: Engine, holding: Holding): Promise<Place>
  /** A new one that may be written to, and that is gone afterwards. */
  makeAnew(engine: Engine, holding: Holding): Promise<Place & AsyncDisposable>
}

export interface StockOptions {
  folder: string
  /** Of a PostgreSQL that runs already; without it one is started when it is needed, with its data in the folder. */
  postgresUrl?: string | undefined
  tell(text: string): void
}

const root = join(import.meta.dirname, '..')
/** What a filled database depends on. Where one of them has changed, it is made anew. */
const sources = ['src/store/schema/**/*.ts', 'src/content/index-keys.ts', 'bench/content.ts']
/** With its index, its searchable text and its record of changes. */
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

export function openStock({ folder, postgresUrl, tell }: StockOptions): Stock {
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

  /** Databases of a server that others use, too, must not meet. */
  const databaseOf = (dataDir: string): string => `bench_${hash('sha256', dataDir).slice(0, 12)}`

  async function envOf(engine: Engine, dataDir: string): Promise<PlaceEnv> {
    return { DATA_DIR: dataDir, DATABASE_URL: engine === 'postgres' ? await urlOf(databaseOf(dataDir)) : '' }
  }

  async function removePlace(engine: Engine, dataDir: string): Promise<void> {
    rmSync(dataDir, { recursive: true, force: true })
    if (engine === 'postgres')
      await runStatements(await urlOf('postgres'), `drop database if exists ${databaseOf(dataDir)} with (force)`)
  }

  async function makePlace(engine: Engine, dataDir: string, holding: Holding): Promise<Place> {
    checkDiskSpace(folder, holding.items)
    await removePlace(engine, dataDir) // what an interrupted run has left
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    if (engine === 'postgres') await runStatements(await urlOf('postgres'), `create database ${databaseOf(dataDir)}`)
    const env = await envOf(engine, dataDir)
    const place = await fillPlace(env, holding, (done) =>
      tell(`filling ${engine}: ${done.toLocaleString('en')} of ${holding.items.toLocaleString('en')} items`),
    )
    // What its housekeeping would have done by the next day.
    if (engine === 'postgres') await runStatements(env.DATABASE_URL, 'vacuum (analyze)', 'checkpoint')
    return place
  }

  return {
    async have(engine, { items, hasPictures = false }) {
      const dataDir = join(current, `${engine}-${items}${hasPictures ? '-pictures' : ''}`)
      const marker = join(dataDir, 'bench.json')
      if (existsSync(marker)) {
        const { env: _, ...place } = JSON.parse(readFileSync(marker, 'utf8')) as Place
        return { ...place, env: await envOf(engine, dataDir) }
      }
      const place = await makePlace(engine, dataDir, { items, hasPictures })
      writeFileSync(marker, JSON.stringify(place), { mode: 0o600 })
      return place
    },
    async makeAnew(engine, holding) {
      const dataDir = join(current, `${engine}-anew`)
      const place = await makePlace(engine, dataDir, holding)
      return { ...place, [Symbol.asyncDispose]: () => removePlace(engine, dataDir) }
    },
    async [Symbol.asyncDispose]() {
      await (await server)?.stop()
    },
  }
}
