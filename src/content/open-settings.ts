import { isDeeperThan, keyProblem, scalarProblem } from './json.ts'
import { isKeyOfGroup } from './media-keys.ts'
import { isMediaValue } from './media-uses.ts'
import { isRecord } from './schema.ts'
import { memberPath } from './shapes.ts'

/** Rules for all of a site's settings, including those unknown to us. All values are parsed JSON. */

const maxDepth = 20
const maxCharacters = 200_000
export const limitsInWords = `At most ${maxCharacters} characters of JSON, nested at most ${maxDepth} deep.`
/** Checked before anything walks the settings. */
export function limitProblem(settings: Record<string, unknown>): string | undefined {
  if (isDeeperThan(maxDepth, settings)) return `settings must be nested at most ${maxDepth} deep`
  const { length } = JSON.stringify(settings)
  return length > maxCharacters ? `settings must have at most ${maxCharacters} characters of JSON` : undefined
}

function mediaProblems(groupId: string, path: string, value: Record<string, unknown>): string[] {
  if (!isMediaValue(value)) return []
  const problems: string[] = []
  if (!isKeyOfGroup(groupId, value.key)) problems.push(`${path}.key does not belong to this group`)
  if (Object.hasOwn(value, 'currentFile')) problems.push(`${path}.currentFile is added on delivery: omit it`)
  return problems
}

function memberProblems(groupId: string, path: string, key: string, member: unknown): string[] {
  const problem = keyProblem(key)
  return problem === undefined ? problemsAnywhere(groupId, memberPath(path, key), member) : [`${path} ${problem}`]
}

/** Problems of a value and everything in it. `limitProblem` must have been checked. */
export function problemsAnywhere(groupId: string, path: string, value: unknown): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, position) => problemsAnywhere(groupId, `${path}[${position}]`, item))
  }
  if (!isRecord(value)) {
    const problem = scalarProblem(value)
    return problem === undefined ? [] : [`${path} ${problem}`]
  }
  const members = Object.entries(value)
  return [
    ...mediaProblems(groupId, path, value),
    ...members.flatMap(([key, member]) => memberProblems(groupId, path, key, member)),
  ]
}
