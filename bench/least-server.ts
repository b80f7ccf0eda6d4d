import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { toIso } from '../src/content/moments.ts'
import type { Engine } from '../src/store/engine/database.ts'

/**
 * The least that it takes to make a page from the database: a server that knows the ids of its items beforehand, reads them
 * with one prepared statement, puts the answer together, hashes it for its ETag and sends it. It has no keys, no limits, no
 * log, and understands no question.
 */
export interface LeastOptions {
  engine: Engine
  /** The file of SQLite, or the URL of PostgreSQL. */
  database: string
  collectionId: string
}

type Row = [id: string, value: string, publishMs: number, createdMs: number, updatedMs: number]
type ReadItems = (ids: readonly string[]) => Promise<Row[]> | Row[]

const pageSize = 20
const idsKnown = 2000
const columns = 'id, value, publish_ms, created_ms, updated_ms'
const visible = 'archived = 0 and publish_ms < 2000000000000'

interface Source {
  ids: string[]
  read: ReadItems
}

function openSqliteSource({ database, collectionId }: LeastOptions): Source {
  const file = new DatabaseSync(database, { readOnly: true })
  file.exec('pragma cache_size = -65536')
  const known = file.prepare(
    `select id from objects where container_id = ? and ${visible} order by version, value limit ?`,
  )
  const places = Array.from({ length: pageSize }, () => '?').join(', ')
  const statement = file.prepare(`select ${columns} from objects where id in (${places})`)
  statement.setReturnArrays(true)
  return {
    ids: known.all(collectionId, idsKnown).map(({ id }) => String(id)),
    read: (ids) => statement.all(...ids) as unknown as Row[],
  }
}

async function openPostgresSource({ database, collectionId }: LeastOptions): Promise<Source> {
  const pool = new pg.Pool({ connectionString: database })
  const objects = 'sluice_main.objects'
  const known = `select id from ${objects} where container_id = $1 and ${visible} order by version, value limit $2`
  const { rows } = await pool.query<{ id: string }>(known, [collectionId, idsKnown])
  const text = `select ${columns} from ${objects} where id = any($1)`
  return {
    ids: rows.map(({ id }) => id),
    read: async (ids) => (await pool.query<Row>({ name: 'page', text, values: [ids], rowMode: 'array' })).rows,
  }
}

const iso = (ms: number): string => toIso(Math.max(0, ms))

function itemOf([id, value, publishMs, createdMs, updatedMs]: Row): string {
  const dates = `"publishDate":"${iso(publishMs)}","archived":false,"createdAt":"${iso(createdMs)}","updatedAt":"${iso(updatedMs)}"`
  return `{"_id":"${id}","objectValue":{"_id":"${id}",${value.slice(1, -1)},"mediaFields":{}},"collectionObj":{},${dates}}`
}

async function serve(options: LeastOptions): Promise<string> {
  const { ids, read } = options.engine === 'sqlite' ? openSqliteSource(options) : await openPostgresSource(options)
  let asked = 0
  const server = createServer(async (_, response) => {
    const start = (asked++ * pageSize) % (ids.length - pageSize + 1)
    const rows = await read(ids.slice(start, start + pageSize))
    const text = `{"success":true,"data":{"items":[${rows.map(itemOf).join(',')}],"totalCount":${ids.length}},"error":null}`
    const body = Buffer.from(text)
    const etag = `"${hash('sha256', body, 'base64url').slice(0, 27)}"`
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length, ETag: etag })
    response.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('There is no port.')
  return `http://127.0.0.1:${address.port}`
}

/** Started as a process of its own: what it reads comes as a message, and where it serves goes back as one. */
if (import.meta.main) {
  const [options] = (await once(process, 'message')) as [LeastOptions]
  process.send?.([await serve(options)])
  process.on('disconnect', () => process.exit()) // who started us is gone
}
