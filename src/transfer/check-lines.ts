import { parseSchema, type Schema } from '../content/schema.ts'
import { checkSite } from '../content/site-settings.ts'
import { checkObjectValue } from '../content/validate.ts'
import { createLibraryChecker } from './check-library.ts'
import { mediaProblem } from './check-media.ts'
import {
  type ContainerLine,
  countLine,
  type ExportLine,
  type HeadLine,
  type LineType,
  type MediaLine,
  noCounts,
  type ObjectLine,
  type OrderLine,
  type VersionLine,
} from './export-format.ts'
import type { ProblemList } from './problem-list.ts'

const containers = ['collection', 'integration'] as const
const anyContent = ['sluice-export', 'site', ...containers, 'object', 'version'] as const
/** Which lines may stand right before one. */
const mayFollow: Readonly<Record<LineType, readonly LineType[]>> = {
  'sluice-export': [],
  site: ['sluice-export', 'site'],
  collection: anyContent,
  integration: anyContent,
  object: [...containers, 'object', 'version'],
  version: ['object', 'version'],
  libraryItem: [...anyContent, 'libraryItem'],
  order: [...anyContent, 'libraryItem', 'order'],
  media: [...anyContent, 'libraryItem', 'order', 'media'],
  end: [...anyContent, 'libraryItem', 'order', 'media'],
}

interface CheckedContainer {
  /** Undefined where the schema itself is wrong: then nothing can be said of the objects. */
  schema: Schema | undefined
  lastId: string
  /** An account's products are told apart by the provider's id. */
  products: Set<string>
}

/** Checks the lines of an export after its head, each in the light of those before it. */
export function createLineChecker(folder: string, head: HeadLine, problems: ProblemList) {
  const { groupId } = head
  const counts = noCounts()
  const ids = new Set<string>()
  const names = new Set<string>()
  const problemsOfItem = createLibraryChecker(head)
  let previous: LineType = 'sluice-export'
  let container: CheckedContainer = { schema: undefined, lastId: '', products: new Set() }
  let object = { version: 0, lastVersion: 0 }
  const sessions = new Set<string>()
  let lastKey = ''

  function takeId(place: string, id: string): void {
    if (ids.has(id)) problems.add(place, `the id ${id} stands in the file more than once`)
    ids.add(id)
  }

  function checkContainer(place: string, line: ContainerLine): void {
    const name = `${line.type} "${line.name}"`
    if (names.has(name)) problems.add(place, `there is more than one ${name}`)
    names.add(name)
    const schema = problems.attempt(place, () => parseSchema(line.schema))
    container = { schema, lastId: '', products: new Set() }
  }

  function checkProduct(place: string, { externalId, accountHandle }: ObjectLine): void {
    if (externalId === null) return
    const product = JSON.stringify([accountHandle, externalId])
    if (container.products.has(product)) problems.add(place, `the externalId ${externalId} stands here more than once`)
    container.products.add(product)
  }

  function checkObject(place: string, line: ObjectLine): void {
    const { schema, lastId } = container
    if (line.id < lastId) problems.add(place, `objects must stand in the order of their ids; ${line.id} does not`)
    container.lastId = line.id
    object = { version: line.version, lastVersion: 0 }
    checkProduct(place, line)
    if (schema) problems.attempt(place, () => checkObjectValue(schema, groupId, line.objectValue))
  }

  function checkVersion(place: string, { version }: VersionLine): void {
    if (version <= object.lastVersion || version >= object.version)
      problems.add(place, 'former versions must stand in their order, and be older than their object')
    object.lastVersion = version
  }

  function checkOrder(place: string, { integrationType, sessionId }: OrderLine): void {
    const session = JSON.stringify([integrationType, sessionId])
    if (sessions.has(session)) problems.add(place, `the session ${sessionId} stands here more than once`)
    sessions.add(session)
  }

  async function checkMedia(place: string, line: MediaLine): Promise<void> {
    if (line.key <= lastKey) problems.add(place, `media must stand in the order of keys; ${line.key} does not`)
    lastKey = line.key
    const problem = await mediaProblem(folder, groupId, line)
    if (problem !== undefined) problems.add(place, problem)
  }

  async function checkContent(place: string, line: ExportLine): Promise<void> {
    if ('id' in line) takeId(place, line.id)
    if (line.type === 'site') problems.attempt(place, () => checkSite(groupId, line))
    else if (line.type === 'collection' || line.type === 'integration') checkContainer(place, line)
    else if (line.type === 'object') checkObject(place, line)
    else if (line.type === 'version') checkVersion(place, line)
    else if (line.type === 'libraryItem') for (const problem of problemsOfItem(line)) problems.add(place, problem)
    else if (line.type === 'order') checkOrder(place, line)
    else if (line.type === 'media') await checkMedia(place, line)
  }

  return {
    counts,
    async check(place: string, line: ExportLine): Promise<void> {
      const isInPlace = mayFollow[line.type].includes(previous)
      if (!isInPlace) problems.add(place, `a line of type ${line.type} cannot stand after one of type ${previous}`)
      previous = line.type
      countLine(counts, line.type)
      await checkContent(place, line)
    },
  }
}
