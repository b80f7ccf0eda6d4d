import { createLruMap } from '../../cache/lru-map.ts'
import type { VisibleObject } from '../../content/delivery-text.ts'
import type { Container } from '../../content/model.ts'
import { type Revisions, revisionColumns } from '../content/revisions.ts'
import { createSqlBuilder } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'
import type { ListEntry } from './content-cache.ts'
import { readLargeValues, valueColumn } from './large-values.ts'
import type { Listing } from './list-conditions.ts'

/** Visible objects, and the group's revisions in the same snapshot. */
export interface DeliveredPage {
  objects: VisibleObject[]
  revisions: Revisions[]
}

const commonColumns = ['id', 'value', 'publish_ms', 'created_ms', 'updated_ms'] as const
const productColumns = ['external_id', 'account_handle'] as const
export const deliveredColumns = [...commonColumns, ...productColumns] as const

/** The values of `deliveredColumns`; those of products may be missing. */
type DeliveredValues = [
  id: string,
  value: string,
  publishMs: number,
  createdMs: number,
  updatedMs: number,
  externalId?: string | null,
  accountHandle?: string,
]

/** The first row. */
type RevisionValues = [id: null, value: null, revision: number, mediaRevision: number]

export function toVisible(values: Readonly<DeliveredValues>): VisibleObject {
  return {
    id: values[0],
    valueText: values[1],
    publishMs: values[2],
    createdMs: values[3],
    updatedMs: values[4],
    externalId: values[5] ?? null,
    accountHandle: values[6] ?? '',
  }
}

const toRevisions = (values: RevisionValues): Revisions => ({ revision: values[2], media_revision: values[3] })

interface Parts {
  /** Selects the first row: nulls and the revisions. A snapshot distinguishes columns by name, so all are named. */
  revisions(columns: string): string
  objects: string
}

function partsOf(kind: Container['kind'], hasRow: boolean, maxBytes: number): Parts {
  const ofProducts = kind === 'integration' ? productColumns : []
  const nulls = [...ofProducts, ...(hasRow ? ['row'] : [])].map((name) => `, null as ${name}`).join('')
  const names = [...commonColumns, ...ofProducts, ...(hasRow ? ['rowid'] : [])]
  return {
    revisions: (columns) => `select null as id, null as value, ${columns}, 0 as updated_ms${nulls}`,
    objects: `select ${names.map((name) => (name === 'value' ? valueColumn(maxBytes) : `o.${name}`)).join(', ')}`,
  }
}

type Source = Pick<Listing, 'group' | 'container'> & { maxBytes: number }

/** Statements by engine, kind of container and number of rows. Building one takes as long as running it. */
const texts = createLruMap<string, string>(1000)

function textOf(source: Source, count: number, build: (source: Source, count: number) => string): string {
  const { group, container, maxBytes } = source
  const key = `${build.name} ${group.database.engine} ${container.kind} ${maxBytes} ${count}`
  const text = texts.get(key) ?? build(source, count)
  texts.set(key, text)
  return text
}

/** The first parameter is the group, the others are the ids, with PostgreSQL as a single text. */
function textByIds({ group: { database }, container: { kind }, maxBytes }: Source, count: number): string {
  const draft = createSqlBuilder(database)
  const groupId = draft.bind('')
  const isPostgres = draft.engine === 'postgres'
  const { revisions, objects } = partsOf(kind, !isPostgres, maxBytes)
  const ids = isPostgres
    ? `= any(string_to_array(${draft.bind('')}, ','))`
    : `in (${Array.from({ length: count }, () => draft.bind('')).join(', ')})`
  const columns = revisionColumns({ ...draft, bind: () => groupId }, '')
  return `${revisions(columns)} union all ${objects} from ${draft.table('objects')} as o where o.group_id = ${groupId} and o.id ${ids}`
}

async function readByIds(source: Source, entries: readonly ListEntry[]): Promise<DeliveredPage> {
  const { groupId, database } = source.group
  const hasRow = database.engine === 'sqlite'
  const ids = entries.map(({ id }) => id)
  const parameters = [groupId, ...(hasRow ? ids : [ids.join()])]
  const found = await database.readRowArrays(textOf(source, ids.length, textByIds), parameters)
  const byId = new Map(found.map((values) => [values[0], values]))
  const present = entries.flatMap((entry) => {
    const values = byId.get(entry.id)
    if (!values) return []
    if (hasRow) entry.row = values.pop() as number
    return toVisible(values as DeliveredValues)
  })
  return { objects: present, revisions: [toRevisions(byId.get(null) as RevisionValues)] }
}

function textByRows({ container: { kind }, maxBytes }: Source, count: number): string {
  const { revisions, objects } = partsOf(kind, false, maxBytes)
  const page = `(values ${Array(count).fill('(?)').join(', ')}) as page`
  return `${revisions('revision, media_revision')} from group_revisions where group_id = ? union all ${objects} from ${page} cross join objects as o on o.rowid = page.column1`
}

/**
 * With SQLite, reading by row number takes two thirds of the time of reading by id. `vacuum` may renumber rows, so the ids
 * are compared; they are unique across groups. Undefined if one differs.
 */
async function readByRows(source: Source, entries: readonly ListEntry[]): Promise<DeliveredPage | undefined> {
  const { groupId, database } = source.group
  const rows = entries.map(({ row }) => row as number)
  const [first, ...found] = await database.readRowArrays(textOf(source, rows.length, textByRows), [groupId, ...rows])
  if (found.length !== entries.length) return undefined
  const objects: VisibleObject[] = []
  for (const [position, values] of found.entries()) {
    if (values[0] !== entries[position]?.id) return undefined
    objects.push(toVisible(values as DeliveredValues))
  }
  return { objects, revisions: [toRevisions(first as RevisionValues)] }
}

/** The objects of these entries that still exist, in the same order. */
export async function readEntries(source: Source, entries: readonly ListEntry[]): Promise<DeliveredPage> {
  const isKnown = entries.length > 0 && entries.every(({ row }) => row !== undefined)
  const page = (isKnown && (await readByRows(source, entries))) || (await readByIds(source, entries))
  return complete(source.group, page, source.maxBytes)
}

/** The page with its large values. Throws if it is too long for an answer. */
export async function complete(group: GroupStore, page: DeliveredPage, maxBytes: number): Promise<DeliveredPage> {
  const read = page.objects.map(({ id, valueText: value }) => ({ id, value }))
  const { values, revisions } = await readLargeValues(group, read, maxBytes)
  if (values.size === 0 && revisions.length === 0) return page
  const objects = page.objects.map((object) => ({ ...object, valueText: values.get(object.id) ?? object.valueText }))
  return { objects, revisions: [...page.revisions, ...revisions] }
}
