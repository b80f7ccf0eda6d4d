import { parseSchema } from '../../content/parse-schema.ts'
import type { Schema } from '../../content/schema.ts'
import { checkSite } from '../../content/site-settings.ts'
import { uniqueValuesOf } from '../../content/unique.ts'
import { checkObjectValue } from '../../content/validate.ts'
import { relaxSchema } from '../../content/working-copy.ts'
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
} from '../export-format.ts'
import { createLibraryChecker } from './library.ts'
import { mediaProblem } from './media.ts'
import type { ProblemList } from './problem-list.ts'

const containers = ['collection', 'integration'] as const
const anyContent = ['sluice-export', 'site', ...containers, 'object', 'version'] as const
/** Type of line → the types that may precede it. */
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
  /** Undefined if the schema itself is invalid: objects are then not validated. */
  schema: Schema | undefined
  lastId: string
  /** An account's products are distinguished by the provider's id. */
  products: Set<string>
  /** The values of unique fields. */
  unique: Set<string>
}

export function createLineChecker(folder: string, head: HeadLine, problems: ProblemList) {
  const { groupId } = head
  const counts = noCounts()
  const ids = new Set<string>()
  const names = new Set<string>()
  const problemsOfItem = createLibraryChecker(head)
  let previous: LineType = 'sluice-export'
  let container: CheckedContainer = { schema: undefined, lastId: '', products: new Set(), unique: new Set() }
  let object = { version: 0, lastVersion: 0 }
  const sessions = new Set<string>()
  let lastKey = ''

  function addId(location: string, id: string): void {
    if (ids.has(id)) problems.add(location, `the id ${id} appears more than once in the file`)
    ids.add(id)
  }

  function checkContainer(location: string, line: ContainerLine): void {
    const name = `${line.type} "${line.name}"`
    if (names.has(name)) problems.add(location, `there is more than one ${name}`)
    names.add(name)
    const schema = problems.attempt(location, () => parseSchema(line.schema))
    container = { schema, lastId: '', products: new Set(), unique: new Set() }
  }

  function checkProduct(location: string, { externalId, accountHandle }: ObjectLine): void {
    if (externalId === null) return
    const product = JSON.stringify([accountHandle, externalId])
    if (container.products.has(product)) problems.add(location, `the externalId ${externalId} appears more than once`)
    container.products.add(product)
  }

  function checkObject(location: string, line: ObjectLine): void {
    const { schema, lastId } = container
    if (line.id < lastId) problems.add(location, `objects must be in the order of their ids; ${line.id} is not`)
    container.lastId = line.id
    object = { version: line.version, lastVersion: 0 }
    checkProduct(location, line)
    if (!schema) return
    problems.attempt(location, () => {
      checkObjectValue(schema, groupId, line.objectValue)
      if (line.workingCopy) checkObjectValue(relaxSchema(schema), groupId, line.workingCopy.value)
      checkUnique(location, schema, line)
    })
  }

  function checkUnique(location: string, schema: Schema, { objectValue }: ObjectLine): void {
    for (const { field, key } of uniqueValuesOf(schema, objectValue)) {
      const value = `${field} ${key}`
      if (container.unique.has(value))
        problems.add(location, `objectValue.${field} must be unique, and an object before it has the same value`)
      container.unique.add(value)
    }
  }

  function checkVersion(location: string, { version }: VersionLine): void {
    if (version <= object.lastVersion || version >= object.version)
      problems.add(location, 'former versions must be in order, and older than their object')
    object.lastVersion = version
  }

  function checkOrder(location: string, { integrationType, sessionId }: OrderLine): void {
    const session = JSON.stringify([integrationType, sessionId])
    if (sessions.has(session)) problems.add(location, `the session ${sessionId} appears more than once`)
    sessions.add(session)
  }

  async function checkMedia(location: string, line: MediaLine): Promise<void> {
    if (line.key <= lastKey) problems.add(location, `media must be in the order of keys; ${line.key} is not`)
    lastKey = line.key
    const problem = await mediaProblem(folder, groupId, line)
    if (problem !== undefined) problems.add(location, problem)
  }

  async function checkContent(location: string, line: ExportLine): Promise<void> {
    if ('id' in line) addId(location, line.id)
    if (line.type === 'site')
      problems.attempt(location, () => {
        checkSite(groupId, line)
        if (line.workingCopy) checkSite(groupId, { ...line, settings: line.workingCopy.value })
      })
    else if (line.type === 'collection' || line.type === 'integration') checkContainer(location, line)
    else if (line.type === 'object') checkObject(location, line)
    else if (line.type === 'version') checkVersion(location, line)
    else if (line.type === 'libraryItem') for (const problem of problemsOfItem(line)) problems.add(location, problem)
    else if (line.type === 'order') checkOrder(location, line)
    else if (line.type === 'media') await checkMedia(location, line)
  }

  return {
    counts,
    async check(location: string, line: ExportLine): Promise<void> {
      const isInOrder = mayFollow[line.type].includes(previous)
      if (!isInOrder) problems.add(location, `a line of type ${line.type} cannot follow one of type ${previous}`)
      previous = line.type
      countLine(counts, line.type)
      await checkContent(location, line)
    },
  }
}
