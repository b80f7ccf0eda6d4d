import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { toIso } from '../src/content/moments.ts'
import type { Engine } from '../src/store/engine/database.ts'

/**
 * The minimum cost of a page from the database: a server that has read the ids of its items beforehand, reads the items
 * with one prepared statement, assembles the answer, hashes it for its ETag and sends it. It has no keys, no limits, no
 * log, and ignores the URL.
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
const idCount = 2000
const columns = 'id, value, publish_ms, created_ms, updated_ms'
const visible = 'archived = 0 and publish_ms < 2000000000000'

interface Source {
  ids: string[]
  read: ReadItems
}

function openSqliteSource({ database, collectionId }: LeastOptions): Source {
  const file = new DatabaseSync(database, { readOnly: true })
  file.exec('pragma cache_size = -65536')
  const selectIds = file.prepare(
    `select id from objects where container_id = ? and ${visible} order by version, value limit ?`,
  )
  const placeholders = Array.from({ length: pageSize }, () => '?').join(', ')
  const statement = file.prepare(`select ${columns} from objects where id in (${placeholders})`)
  statement.setReturnArrays(true)
  return {
    ids: selectIds.all(collectionId, idCount).map(({ id }) => String(id)),
    read: (ids) => statement.all(...ids) as unknown as Row[],
  }
}

async function openPostgresSource({ database, collectionId }: LeastOptions): Promise<Source> {
  const pool = new pg.Pool({ connectionString: database })
  const objects = 'sluice_main.objects'
  const selectIds = `select id from ${objects} where container_id = $1 and ${visible} order by version, value limit $2`
  const { rows } = await pool.query<{ id: string }>(selectIds, [collectionId, idCount])
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

/** Runs as a child process: receives its options as a message and replies with its origin. */
if (import.meta.main) {
  const [options] = (await once(process, 'message')) as [LeastOptions]
  process.send?.([await serve(options)])
  process.on('disconnect', () => process.exit()) // the parent has exited
}
