import { filterKeyOfText } from '../../content/index-keys.ts'
import type { Container } from '../../content/model.ts'
import { holdsReferences, mayReferTo, type ReferenceUse, referencesIn } from '../../content/references.ts'
import { refuse } from '../../content/validate.ts'
import { inBatches } from '../engine/database.ts'
import { createSqlBuilder, isOneOf, runStatement, type SqlBuilder, timeLimitConditions } from '../engine/statement.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'
import { listContainers } from './containers.ts'
import { selectByKeys } from './object-index.ts'

/** The index entry for the objects that an object refers to; no schema field can begin with @. */
export const referenceField = '@ref'

type NamedContainer = Pick<Container, 'kind' | 'name'>

/** The containers of objects in any state; unknown ids are left out. */
async function findContainersOf(
  { groupId, database }: GroupStore,
  ids: readonly string[],
): Promise<Map<string, NamedContainer>> {
  const found = new Map<string, NamedContainer>()
  for (const batch of inBatches(ids)) {
    const rows = await database.read
      .selectFrom('objects')
      .innerJoin('containers', 'containers.id', 'objects.container_id')
      .select(['objects.id', 'containers.kind', 'containers.name'])
      .where('objects.group_id', '=', groupId)
      .where('containers.group_id', '=', groupId)
      .where('objects.id', 'in', batch)
      .execute()
    for (const { id, kind, name } of rows) found.set(id, { kind, name })
  }
  return found
}

function problemOfReference({ field, path, id }: ReferenceUse, target: NamedContainer | undefined): string | undefined {
  if (!target) return `objectValue.${path} is "${id}", which is not an object of this group`
  if (mayReferTo(field, target)) return undefined
  const { collections = [], products = [] } = field
  const allowed = [...collections, ...products].map((name) => `"${name}"`)
  return `objectValue.${path} is an object of "${target.name}"; it must be one of ${allowed.join(' or ')}`
}

/** An object that is written, and its former value, if it has one. */
interface WrittenObject {
  id: string
  before?: Record<string, unknown>
  value: Record<string, unknown>
}

/** Problems with references that objects have now and did not have before. */
export async function findReferenceProblems(
  group: GroupStore,
  container: Container,
  objects: readonly WrittenObject[],
): Promise<string[]> {
  const { schema } = container
  if (!holdsReferences(schema)) return []
  const fresh = objects.flatMap(({ before, value }) => {
    const kept = new Set(before ? referencesIn(schema, before).map(({ key }) => key) : [])
    return referencesIn(schema, value).filter(({ key }) => !kept.has(key))
  })
  const targets = await findContainersOf(group, [...new Set(fresh.map(({ id }) => id))])
  for (const { id } of objects) targets.set(id, container) // new ones may refer to each other
  return fresh.flatMap((use) => problemOfReference(use, targets.get(use.id)) ?? [])
}

/** Refuses new references to objects that are missing or of another container; existing references may stay. */
export async function refuseMissingTargets(
  { group, allowsMissing = false }: ContentWriter,
  container: Container,
  objects: readonly WrittenObject[],
): Promise<void> {
  if (!allowsMissing) refuse(await findReferenceProblems(group, container, objects))
}

export interface Referrer {
  id: string
  containerId: string
}

/**
 * Index rows of references to some of these objects, as the text of a query; undefined if no container has references.
 */
async function selectUses(group: GroupStore, draft: SqlBuilder, ids: readonly string[]): Promise<string | undefined> {
  const containers = (await listContainers(group)).filter(({ schema }) => holdsReferences(schema)).map(({ id }) => id)
  if (containers.length === 0 || ids.length === 0) return undefined
  return selectByKeys(draft, {
    containerIds: containers,
    field: referenceField,
    filterKeys: ids.map(filterKeyOfText),
  })
}

/** References that are counted within a write, for which others wait. */
export const maxUsesCounted = 1000

/** Objects that refer to some of these objects, without those that are `besides`. There may be more of them. */
export async function findSomeReferrers(
  group: GroupStore,
  ids: readonly string[],
  besides: readonly string[],
): Promise<{ referrers: Referrer[]; hasMore: boolean }> {
  const draft = createSqlBuilder(group.database)
  const rows = await selectUses(group, draft, ids)
  if (rows === undefined) return { referrers: [], hasMore: false }
  const where = besides.length > 0 ? ` where not (${isOneOf(draft, 'object_id', besides)})` : ''
  const uses = await runStatement<Referrer>(
    group,
    `select object_id as id, container_id as "containerId" from (${rows}) as r${where} limit ${draft.bind(maxUsesCounted + 1)}`,
    draft,
  )
  const distinct = new Map(uses.slice(0, maxUsesCounted).map((use) => [use.id, use]))
  return { referrers: [...distinct.values()], hasMore: uses.length > maxUsesCounted }
}

/** The objects that refer to an object now, in any state. Former versions do not count. */
export async function findReferrers(
  group: GroupStore,
  target: string,
  { limit, skip }: { limit: number; skip: number },
): Promise<{ referrers: Referrer[]; totalCount: number }> {
  const select = async <Row>(what: string, more: (draft: SqlBuilder) => string = () => ''): Promise<Row[]> => {
    const draft = createSqlBuilder(group.database, true) // one object may have any number of referrers
    const rows = await selectUses(group, draft, [target])
    if (rows === undefined) return []
    const conditions = timeLimitConditions(draft)
    const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
    return runStatement<Row>(group, `select ${what} from (${rows}) as r${where}${more(draft)}`, draft)
  }
  const [counted] = await select<{ total: number }>('count(distinct object_id) as total')
  const rows = await select<Referrer>(
    'distinct object_id as id, container_id as "containerId"',
    ({ bind }) => ` order by id limit ${bind(limit)} offset ${bind(skip)}`,
  )
  return { referrers: rows, totalCount: Number(counted?.total ?? 0) }
}
