import { hash } from 'node:crypto'
import { isKeyOfGroup } from '../content/media-keys.ts'
import { keysOfFile } from '../store/media-files.ts'
import { formatWithoutLibrary, type HeadLine, type LibraryItemLine } from './export-format.ts'

/** Says what is wrong with each item of the library in the light of those before it. */
export function createLibraryChecker({ groupId, format }: HeadLine) {
  const keys = new Set<string>()
  /** By id, what was said of each file: as a digest, because there may be many. */
  const files = new Map<string, string>()
  const contents = new Set<string>()

  function problemOfFile({ id, sha256, ...facts }: LibraryItemLine['file']): string | undefined {
    const said = hash('sha256', JSON.stringify([sha256, facts]))
    const before = files.get(id)
    if (before === undefined && contents.has(sha256)) return `the file ${id} has the same bytes as one before it`
    files.set(id, said)
    contents.add(sha256)
    return before === undefined || before === said ? undefined : `the file ${id} was another one before`
  }

  return ({ key, file }: LibraryItemLine): string[] => {
    const foreign = [key, ...keysOfFile(file)].filter((each) => !isKeyOfGroup(groupId, each))
    const problems = foreign.map((each) => `the media key ${JSON.stringify(each)} is not one of this group`)
    if (format === formatWithoutLibrary) problems.push(`an export of the format ${format} has no library`)
    if (keys.has(key)) problems.push(`the media key ${JSON.stringify(key)} stands in the library more than once`)
    keys.add(key)
    const problem = problemOfFile(file)
    return problem === undefined ? problems : [...problems, problem]
  }
}
