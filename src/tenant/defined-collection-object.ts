import type { CollectionObject } from '../../client/src/wire.ts'
import { isEmailAddress } from '../content/email.ts'
import { type Container, submissionTypes } from '../content/model.ts'
import {
  checkSubmission,
  deliverSubmission,
  hasHoneypotField,
  honeypotField,
  type Submission,
  stateOfSubmission,
  stripHoneypot,
} from '../content/submissions.ts'
import { hourMs } from '../core/clock.ts'
import { conflict, notFound } from '../core/errors.ts'
import { makeId } from '../core/ids.ts'
import { Type } from '../core/type.ts'
import { submissionAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint, type Endpoint } from '../http/endpoint.ts'
import { idParameter } from '../http/query.ts'
import { announceSubmission } from '../mail/notices.ts'
import { type ContentWriter, endpointAuthoring, writeContent } from '../store/content/changes.ts'
import { findCollection } from '../store/content/containers.ts'
import { runOnce } from '../store/content/idempotency.ts'
import { insertObjects } from '../store/content/objects.ts'
import { findByEmail } from '../store/content/submissions.ts'
import { ValueTaken } from '../store/content/unique.ts'
import { consumeQuota, type Quota } from '../store/mail/quotas.ts'
import type { GroupStore } from '../store/store.ts'

const endpoint = 'definedCollectionObject'

const body = Type.Object({
  collectionId: idParameter('The collection to store it in.', '66f0c0ffee0123456789abce'),
  type: Type.Enum([...submissionTypes], { description: 'The type of the submission. The collection must accept it.' }),
  objectValue: Type.Record(Type.String(), Type.Unknown(), {
    description: 'The fields of the collection’s schema; `subscribeUser` needs `email`. Visitors send no files.',
    examples: [{ rating: 5, title: 'Good bread', body: 'Every morning.', author: 'Ada' }],
  }),
  [honeypotField]: Type.Optional(
    Type.Unknown({
      description:
        'A honeypot: a field of your form that people do not see. If it is filled in, the answer looks the same, and nothing is stored.',
    }),
  ),
})

/** The existing subscriber with this address. */
async function findSubscriber(group: GroupStore, { type, collectionId, objectValue }: Submission) {
  const { email } = objectValue
  if (type !== 'subscribeUser' || typeof email !== 'string' || !isEmailAddress(email)) return undefined
  return findByEmail(group, collectionId, email)
}

const quota = (whose: string, subject: string, maxCount: number): Quota => ({
  subject,
  maxCount,
  windowMs: hourMs,
  refusal: `This ${whose} has reached its hourly limit of submissions.`,
})

async function consumeQuotas(writer: ContentWriter, { id, settings }: Container, ofGroup: number): Promise<void> {
  const { hourlyLimit } = settings
  if (hourlyLimit) await consumeQuota(writer, quota('collection', `submissions ${id}`, hourlyLimit))
  await consumeQuota(writer, quota('group', 'submissions', ofGroup))
}

/** Visitors do not learn whose value it is. */
function hideHolder(error: unknown): never {
  if (error instanceof ValueTaken)
    throw conflict(`objectValue.${error.field} must be unique, and its value is already in use.`)
  throw error
}

async function storeSubmission(
  writer: ContentWriter,
  submission: Submission,
  hourlyLimit: number,
): Promise<CollectionObject> {
  const collection = await findCollection(writer.group, submission.collectionId)
  if (!collection) throw notFound('There is no collection with this collectionId.')
  const { objectValue: value } = stripHoneypot(collection, submission)
  const subscriber = await findSubscriber(writer.group, submission)
  // Before validation, so that a submission over the quota costs little. A refusal below rolls the count back.
  if (!subscriber) await consumeQuotas(writer, collection, hourlyLimit)
  checkSubmission(collection, submission.type, value)
  if (subscriber) return deliverSubmission(collection, subscriber)
  const wanted = { value, ...stateOfSubmission(collection, writer.nowMs) }
  const [object] = await insertObjects(writer, collection, [wanted]).catch(hideHolder)
  if (!object) throw new Error('The submission was not stored.')
  await announceSubmission(writer, collection, object)
  return deliverSubmission(collection, object)
}

/** The answer to a bot that filled in the honeypot: validated like any other, but not stored. */
function answerHoneypot(collection: Container, { type, objectValue: value }: Submission, nowMs: number) {
  checkSubmission(collection, type, value)
  return deliverSubmission(collection, {
    id: makeId(),
    value,
    createdMs: nowMs,
    updatedMs: nowMs,
    externalId: null,
    accountHandle: '',
    version: 1,
    archiveMs: null,
    ...stateOfSubmission(collection, nowMs),
  })
}

/** spec §4.6 */
export const definedCollectionObject: Endpoint = (deps) =>
  defineEndpoint({
    summary: 'A visitor’s submission',
    description:
      'Stores a review or a subscriber in a collection that accepts it, and returns the object as in a listing. For an address that has already subscribed, the existing object is returned.\n\nSend an `Idempotency-Key`, and retry with it if no answer arrives: it is stored only once.',
    query: Type.Object({}),
    body,
    honoursIdempotencyKey: true,
    answer: submissionAnswer,
    status: 201,
    failures: ['NotFound', 'Conflict', 'QuotaExceeded'],
    async handle({ tenant, group, body: sent, idempotencyKey: key, nowMs }): Promise<CollectionObject> {
      const { collectionId, type, objectValue } = sent
      const submission: Submission = { collectionId, type, objectValue }
      const collection = hasHoneypotField(sent) ? await findCollection(group, collectionId) : undefined
      if (collection) {
        const { isHoneypotFilled, objectValue: value } = stripHoneypot(collection, sent)
        if (isHoneypotFilled) return answerHoneypot(collection, { ...submission, objectValue: value }, nowMs)
      }
      return writeContent(
        group,
        endpointAuthoring(endpoint, nowMs, deps.config.databaseQuotas[tenant.tier]),
        (writer) =>
          runOnce(writer, { endpoint, key, body: submission }, () =>
            storeSubmission(writer, submission, deps.config.submissionHourlyLimits[tenant.tier]),
          ),
      )
    },
  })(deps)
