import { mediaUsesIn } from '../../content/media-uses.ts'
import type { Container } from '../../content/model.ts'
import { parseSchema } from '../../content/parse-schema.ts'
import { isStorableText } from '../../content/texts.ts'
import { checkObjectValue } from '../../content/validate.ts'
import { conflict, invalid, notFound } from '../../core/errors.ts'
import { idPattern } from '../../core/ids.ts'
import { changeObjects } from '../../store/content/change-objects.ts'
import { type Author, type Authoring, type ContentWriter, writeContent } from '../../store/content/changes.ts'
import { findCollection, findCollectionByName, insertContainer } from '../../store/content/containers.ts'
import { insertObjects } from '../../store/content/objects.ts'
import { findReferenceProblems } from '../../store/content/references.ts'
import { refuseDuplicates } from '../../store/content/unique.ts'
import { type Group, openContentOf } from '../../store/control/groups.ts'
import { findMediaProblems } from '../../store/media/uses.ts'
import type { GroupStore, Store } from '../../store/store.ts'
import { createProblemList, type ProblemList } from '../import/problem-list.ts'
import { judgeObject, type TallyCounts, type Verdict } from '../import/tally.ts'
import type { OnProgress } from '../progress.ts'
import type { Draft } from './draft.ts'
import { inferSchema } from './infer-schema.ts'
import { chooseKey, type DraftChange, type KeyField, matchDrafts } from './match-drafts.ts'

export interface DraftImportDeps {
  store: Store
  nowMs: number
  author: Author
  onProgress: OnProgress
}

/** Foreign files to be imported as objects of one collection. */
export interface DraftImport {
  /** For the record, such as `import.csv`. */
  verb: string
  /** For messages: the file or the folder. */
  source: string
  /** Each call reads from the beginning. */
  read(): AsyncIterable<Draft>
  /** An id or a name. */
  collection: string
  /** The field by which objects are distinguished. */
  key: string | undefined
  isAppend: boolean
  /** Creates the collection if there is none. */
  mayCreate: boolean
  isDryRun: boolean
}

export interface DraftReport {
  collection: { id: string | undefined; name: string; isNew: boolean; schema: object }
  objects: TallyCounts
}

const maxNameLength = 200
const newCollectionId = ''

async function findOrInfer(content: GroupStore, wanted: DraftImport): Promise<Container> {
  const { collection: which, mayCreate, source } = wanted
  const found = (await findCollection(content, which)) ?? (await findCollectionByName(content, which))
  if (found) return found
  if (!mayCreate || idPattern.test(which))
    throw notFound(
      `The group has no collection "${which}". To create it with the fields of ${source}, add --create and a name.`,
    )
  if (which.trim() === '' || which.length > maxNameLength || !isStorableText(which))
    throw invalid(`A collection needs a name of 1 to ${maxNameLength} characters.`)
  const schema = parseSchema(await inferSchema(wanted.read()))
  return { id: newCollectionId, kind: 'collection', name: which, schema, settings: {}, version: 0 }
}

const verdictOf = ({ before, after }: DraftChange): Verdict =>
  before ? judgeObject(before, { ...before, ...after }, true) : 'added'

async function checkChange(
  content: GroupStore,
  container: Container,
  { source, before, after, problems: ofDraft }: DraftChange,
  problems: ProblemList,
): Promise<void> {
  const { schema } = container
  const known = problems.count
  for (const problem of ofDraft) problems.add(source, problem)
  if (ofDraft.length === 0) problems.attempt(source, () => checkObjectValue(schema, content.groupId, after.value))
  if (problems.count > known) return
  const shownBefore = before ? mediaUsesIn(schema, before.value) : []
  for (const problem of await findMediaProblems(content, shownBefore, mediaUsesIn(schema, after.value)))
    problems.add(source, problem)
  const written = { id: before?.id ?? '', value: after.value, ...(before && { before: before.value }) }
  for (const problem of await findReferenceProblems(content, container, [written])) problems.add(source, problem)
}

/** Compares all drafts with the stored objects, and throws if any cannot be stored. Read-only. */
async function planDrafts(
  content: GroupStore,
  container: Container,
  key: KeyField | undefined,
  wanted: DraftImport,
  { nowMs, onProgress }: Pick<DraftImportDeps, 'nowMs' | 'onProgress'>,
): Promise<TallyCounts> {
  const counts: TallyCounts = { added: 0, changed: 0, equal: 0 }
  const problems = createProblemList()
  let done = 0
  for await (const changes of matchDrafts(content, container, key, wanted.read(), nowMs)) {
    for (const change of changes) {
      await checkChange(content, container, change, problems)
      counts[verdictOf(change)] += 1
    }
    done += changes.length
    onProgress({ stage: 'Checking', done, total: 0 })
  }
  problems.refuse(`${wanted.source} cannot be imported.`)
  if (done === 0) throw invalid(`There is nothing to import in ${wanted.source}.`)
  return counts
}

/** Inserts a new collection; checks that an existing one is unchanged since the plan. */
async function ensureContainer(writer: ContentWriter, { id, name, schema, version }: Container): Promise<Container> {
  if (id === newCollectionId) return insertContainer(writer, { kind: 'collection', name, schema })
  const current = await findCollection(writer.group, id)
  if (current?.version !== version)
    throw conflict('The collection was changed in the meantime. Nothing was imported; run the command again.')
  return current
}

/** All drafts, in one transaction. */
async function writeDrafts(
  writer: ContentWriter,
  planned: Container,
  key: KeyField | undefined,
  { read }: DraftImport,
  onStep: (done: number) => void,
): Promise<Container> {
  const container = await ensureContainer(writer, planned)
  let done = 0
  for await (const changes of matchDrafts(writer.group, container, key, read(), writer.nowMs)) {
    const [problem] = changes.flatMap(({ source, problems }) => problems.map((text) => `${source}: ${text}`))
    if (problem !== undefined) throw conflict(`${problem}. Nothing was imported.`) // arisen since the plan
    await insertObjects(
      writer,
      container,
      changes.flatMap(({ before, after }) => (before ? [] : [after])),
    )
    const toChange = changes.flatMap(({ before, after }) => (before ? [{ before, wanted: after }] : []))
    await changeObjects(writer, container, toChange, 'imported')
    done += changes.length
    onStep(done)
  }
  await refuseDuplicates(writer, container)
  return container
}

/**
 * Imports drafts as new objects or changes to existing ones. All are checked before the first write, and all are written or
 * none. Idempotent.
 */
export async function importDrafts(deps: DraftImportDeps, group: Group, wanted: DraftImport): Promise<DraftReport> {
  const { store, nowMs, author, onProgress } = deps
  if (group.deletingMs !== null) throw conflict('This group is being deleted. Delete it again to finish.')
  const content = await openContentOf(store, group)
  const planned = await findOrInfer(content, wanted)
  const key = chooseKey(planned.schema, wanted.key, wanted.isAppend)
  const objects = await planDrafts(content, planned, key, wanted, deps)
  const { added, changed, equal } = objects
  let container = planned
  if (!wanted.isDryRun && added + changed > 0) {
    const { versionsKept } = group
    const authoring: Authoring = { author, verb: wanted.verb, nowMs, versionsKept, checksUniqueLater: true }
    const onStep = (done: number): void => onProgress({ stage: 'Writing', done, total: added + changed + equal })
    container = await writeContent(content, authoring, (writer) => writeDrafts(writer, planned, key, wanted, onStep))
  }
  return {
    collection: {
      id: container.id || undefined,
      name: container.name,
      isNew: planned.id === newCollectionId,
      schema: Object.fromEntries(container.schema),
    },
    objects,
  }
}
