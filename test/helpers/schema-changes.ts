import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Config } from '../../src/config/config.ts'
import type { TestGroup } from './harness.ts'

/** Two schemas of one collection, and the changes between them: fields added, renamed, retyped and removed. */
export const oldSchema = {
  n: { type: 'integer' },
  title: { type: 'text', required: true },
  rank: { type: 'integer' },
  price: { type: 'text' },
  kind: { type: 'text' },
  old: { type: 'text' },
}
export const newSchema = {
  n: { type: 'integer' },
  headline: { type: 'text', required: true },
  rank: { type: 'text' },
  price: { type: 'decimal' },
  kind: { type: 'enum', values: ['bread', 'cake'] },
  tags: { type: 'list', of: { type: 'text' } },
}
export const toNew = { schema: newSchema, renames: { title: 'headline' }, defaults: { tags: ['fresh'] } }
export const toOld = { schema: oldSchema, renames: { headline: 'title' }, defaults: { old: 'stale' } }

const common = (n: number) => ({ n, price: `${n % 90}.50`, kind: n % 2 === 0 ? 'bread' : 'cake' })
export const oldValue = (n: number) => ({ ...common(n), title: `Title ${n}`, rank: n % 7, old: 'stale' })
export const newValue = (n: number) => ({ ...common(n), headline: `Title ${n}`, rank: `${n % 7}`, tags: ['fresh'] })

/** The schema that a value fits completely; anything else is a mixture. */
export function sideOf({ n, rank, ...value }: Record<string, unknown>): 'old' | 'new' | 'mixture' {
  const names = Object.keys(value)
    .filter((name) => name !== '_id' && name !== 'mediaFields')
    .toSorted()
    .join()
  if (names === 'kind,old,price,title' && typeof rank === 'number') return 'old'
  return names === 'headline,kind,price,tags' && typeof rank === 'string' ? 'new' : 'mixture'
}

export interface CollectionLocation {
  dataDir: string
  databaseUrl: string | undefined
  database: string
  groupId: string
  collectionId: string
}

export const locationOf = (
  { dataDir, databaseUrl }: Config,
  { group }: Pick<TestGroup, 'group'>,
  collectionId: string,
): CollectionLocation => ({ dataDir, databaseUrl, database: group.database, groupId: group.id, collectionId })

export interface Changer {
  child: ChildProcess
  /** The number of statements so far. */
  statements(): number
  /** Resolves when the process has ended, for any reason. */
  ended: Promise<number | null>
}

const script = join(import.meta.dirname, 'schema-changer.ts')

export function startChanger(location: CollectionLocation, change: object, nowMs: number): Changer {
  const child = spawn(process.execPath, [script, JSON.stringify({ location, change, nowMs })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let statements = 0
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    statements += chunk.split('\n').length - 1
  })
  return { child, statements: () => statements, ended: once(child, 'close').then(([code]) => code) }
}
