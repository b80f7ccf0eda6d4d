import type { VisibleObject } from '../content/delivery-text.ts'
import type { GroupStore } from './groups.ts'
import { type Revisions, revisionColumns } from './revisions.ts'
import { beginStatement, isOneOf } from './statement.ts'

/** Objects that everybody may see, and the group's revisions as of the same moment. */
export interface DeliveredPage {
  objects: VisibleObject[]
  revisions: Revisions[]
}

/** An object's place in a listing. Which row of SQLite's table it stands in is found out when it is read. */
export interface Entry {
  readonly id: string
  row: number | undefined
}

export const deliveredColumns = [
  'id', 'value', 'publish_ms', 'created_ms', 'updated_ms', 'external_id', 'account_handle',
] as const // biome-ignore format: one line reads better

/** The values of these columns, and the row with SQLite. */
type DeliveredValues = [
  id: string,
  value: string,
  publishMs: number,
  createdMs: number,
  updatedMs: number,
  externalId: string | null,
  accountHandle: string,
  row?: number,
]

/** What comes before them. */
type RevisionValues = [id: null, value: null, revision: number, mediaRevision: number]

export function toVisible(values: Readonly<DeliveredValues>): VisibleObject {
  return {
    id: values[0],
    valueText: values[1],
    publishMs: values[2],
    createdMs: values[3],
    updatedMs: values[4],
    externalId: values[5],
    accountHandle: values[6],
  }
}

const toRevisions = (values: RevisionValues): Revisions => ({ revision: values[2], media_revision: values[3] })

const objectColumns = deliveredColumns.map((name) => `o.${name}`).join(', ')

/** Each column has a name of its own: inside a transaction the values are taken from objects. */
const withRevisions = (revisions: string): string =>
  `select null as id, null as value, ${revisions}, 0 as updated_ms, null as external_id, null as account_handle`

async function readByIds({ groupId, database }: GroupStore, entries: readonly Entry[]): Promise<DeliveredPage> {
  const draft = beginStatement(database)
  const [noRow, row] = database.engine === 'sqlite' ? [', 0 as row', ', o.rowid'] : ['', '']
  const ids = entries.map(({ id }) => id)
  const text = `${withRevisions(revisionColumns(draft, groupId))}${noRow} union all select ${objectColumns}${row} from ${draft.table('objects')} as o where o.group_id = ${draft.bind(groupId)} and ${isOneOf(draft, 'o.id', ids)}`
  const found = await database.readValues(text, draft.parameters)
  const objects = new Map<string, DeliveredValues>()
  const revisions: Revisions[] = []
  for (const values of found as (RevisionValues | DeliveredValues)[]) {
    if (values[0] === null) revisions.push(toRevisions(values))
    else objects.set(values[0], values as DeliveredValues)
  }
  const present = entries.flatMap((entry) => {
    const values = objects.get(entry.id)
    if (!values) return []
    entry.row = values[7]
    return toVisible(values)
  })
  return { objects: present, revisions }
}

/** By how many there are: to put one together takes a tenth of the time that it runs. */
const rowTexts: string[] = []

function textByRows(count: number): string {
  rowTexts[count] ??=
    `${withRevisions('revision, media_revision')} from group_revisions where group_id = ? union all select ${objectColumns} from (values ${Array(count).fill('(?)').join(', ')}) as page cross join objects as o on o.rowid = page.column1`
  return rowTexts[count]
}

/**
 * With SQLite a row is found by its number in two thirds of the time that it takes by its id. The numbers may have changed
 * since, for `vacuum` may count them anew: so each row must have the id that it was remembered for. Undefined where one has not.
 */
async function readByRows(
  { groupId, database }: GroupStore,
  entries: readonly Entry[],
): Promise<DeliveredPage | undefined> {
  const rows = entries.map(({ row }) => row)
  const [first, ...found] = await database.readValues(textByRows(rows.length), [groupId, ...rows])
  if (found.length !== entries.length) return undefined
  const objects: VisibleObject[] = []
  for (const [position, values] of (found as DeliveredValues[]).entries()) {
    if (values[0] !== entries[position]?.id) return undefined
    objects.push(toVisible(values))
  }
  return { objects, revisions: [toRevisions(first as RevisionValues)] }
}

/** The objects of these entries, in this order, as far as they are there. */
export async function readEntries(group: GroupStore, entries: readonly Entry[]): Promise<DeliveredPage> {
  const isKnown = entries.every(({ row }) => row !== undefined)
  return (isKnown && (await readByRows(group, entries))) || readByIds(group, entries)
}
