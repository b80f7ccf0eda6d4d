import type { CollectionObject } from '../../client/src/wire.ts'
import { invalid } from '../core/errors.ts'
import { deliverCollectionObject } from './delivery.ts'
import { isEmailAddress } from './email.ts'
import { leavesIn, leavesOf } from './leaves.ts'
import { mediaKeysIn } from './media-uses.ts'
import { type Container, type StoredObject, type SubmissionType, unsetPublishMs } from './model.ts'
import { isMedia, isOrHolds, leafOf } from './schema.ts'
import { problemsOf, refuse } from './validate.ts'

type ObjectValue = Record<string, unknown>

/** A visitor's submission: spec §4.6. */
export interface Submission {
  collectionId: string
  type: SubmissionType
  objectValue: ObjectValue
}

/** A form field hidden from people; bots fill it in. */
export const honeypotField = 'company_website'

const isFilled = (value: unknown): boolean => value !== undefined && value !== null && value !== '' && value !== false

interface Sent {
  objectValue: ObjectValue
  [honeypotField]?: unknown
}

/** A cheap first check, before the collection is read: almost no request fills in the honeypot. */
export const hasHoneypotField = ({ objectValue, [honeypotField]: outside }: Sent): boolean =>
  isFilled(outside) || isFilled(objectValue[honeypotField])

/** The value without the honeypot field, unless the schema really has a field of this name. */
export function stripHoneypot(
  { schema }: Container,
  { objectValue, [honeypotField]: outside }: Sent,
): { objectValue: ObjectValue; isHoneypotFilled: boolean } {
  if (schema.has(honeypotField)) return { objectValue, isHoneypotFilled: isFilled(outside) }
  const { [honeypotField]: inside, ...rest } = objectValue
  return { objectValue: rest, isHoneypotFilled: isFilled(outside) || isFilled(inside) }
}

function refuseType({ settings: { accepts = [] } }: Container, type: SubmissionType): void {
  if (accepts.includes(type)) return
  const accepted = accepts.length > 0 ? `only ${accepts.join(' and ')}` : 'no submissions'
  throw invalid(`type ${type} is not accepted by this collection: it accepts ${accepted}.`)
}

/** A visitor who names the key of any file would get it signed: only the group may refer to files. */
function fileProblems({ schema }: Container, objectValue: ObjectValue): string[] {
  return [...schema].flatMap(([name, field]) => {
    const value = objectValue[name] ?? null
    if (value === null) return []
    if (isMedia(leafOf(field))) return [`objectValue.${name} must be left out: visitors send no files`]
    const files = leavesOf(`objectValue.${name}`, field, value).filter((leaf) => isMedia(leaf.field))
    for (const { path } of files) return [`${path} must be left out: visitors send no files`]
    const refers = mediaKeysIn(new Map([[name, field]]), objectValue).length > 0
    return refers ? [`objectValue.${name} must not refer to files by media:`] : []
  })
}

/** A form sends an empty string for a field left empty, which does not satisfy `required`. */
function blankProblems({ schema }: Container, objectValue: ObjectValue): string[] {
  const isBlank = (value: unknown): boolean => typeof value === 'string' && !value.trim()
  const blank = [...schema].filter(([name, { required }]) => required && isBlank(objectValue[name]))
  const inside = leavesIn(schema, objectValue).filter(({ field, value }) => field.required && isBlank(value))
  return [...blank.map(([name]) => name), ...inside.map(({ path }) => path)].map(
    (path) => `objectValue.${path} is required`,
  )
}

function emailProblem({ email = null }: ObjectValue): string | undefined {
  if (email === null || email === '') return 'objectValue.email is required'
  const isAddress = typeof email === 'string' && isEmailAddress(email)
  return isAddress ? undefined : 'objectValue.email must be one e-mail address such as ada@example.com'
}

/** Refuses a submission that the collection does not accept, with all problems in one error. */
export function checkSubmission(collection: Container, type: SubmissionType, objectValue: ObjectValue): void {
  refuseType(collection, type)
  const { schema } = collection
  const words = Object.fromEntries(
    Object.entries(objectValue).filter(([name]) => {
      const field = schema.get(name)
      return !field || !isMedia(leafOf(field))
    }),
  )
  const email = type === 'subscribeUser' ? emailProblem(objectValue) : undefined
  const problems = [
    ...problemsOf(schema, words),
    ...blankProblems(collection, objectValue),
    ...fileProblems(collection, objectValue),
    email,
  ]
  refuse([...new Set(problems.filter((problem) => problem !== undefined))])
}

/** A moderated submission waits for approval, any other is visible at once. The publish date is when it becomes visible. */
export const stateOfSubmission = ({ settings }: Container, nowMs: number) =>
  settings.moderation
    ? ({ archived: true, review: 'pending', publishMs: unsetPublishMs } as const)
    : ({ archived: false, review: 'approved', publishMs: nowMs } as const)

type State = Pick<StoredObject, 'archived' | 'publishMs' | 'review'>

/** Sets the publish date of a submission when a change by any verb first makes it visible. */
export function datedWhenSeen(before: State, wanted: Partial<State>, nowMs: number): { publishMs?: number } {
  const isFirstSeen = before.archived && wanted.archived === false && before.publishMs === unsetPublishMs
  return before.review !== null && isFirstSeen && wanted.publishMs === undefined ? { publishMs: nowMs } : {}
}

/**
 * The answer to the sender, in the shape of a listed object. It is stored to answer repeated requests, so it contains no
 * files, whose URLs would expire; a visitor cannot send any.
 */
export function deliverSubmission(collection: Container, object: StoredObject): CollectionObject {
  const schema = new Map(
    [...collection.schema].filter(([name, field]) => !isOrHolds(field, isMedia) || object.value[name] === null),
  )
  return deliverCollectionObject({ ...collection, schema }, object, () => undefined)
}
