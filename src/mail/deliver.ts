import { setTimeout as wait } from 'node:timers/promises'
import { createLruMap } from '../cache/lru-map.ts'
import { type JobContext, type JobHandler, PermanentFailure } from '../jobs/handler.ts'
import { retryDelaysSeconds } from '../jobs/retry-backoff.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import type { Job } from '../store/jobs/jobs.ts'
import { type DeliverWork, deliverKind, endMessage, findMessage, type Message } from '../store/mail/messages.ts'
import { addSuppression, findSuppression } from '../store/mail/suppressions.ts'
import { DeliveryFailure } from './transport.ts'
import type { Mail } from './types.ts'

type DeliverDeps = Pick<Mail, 'resolveTransport' | 'render'>

/** Of so many messages it is known that they were delivered, until that is written down. */
const mostRemembered = 10_000
/** How long to wait for a database that is away, at first and at most. */
const noteAgainMs = { first: 100, most: 5000 }

const messageIdOf = ({ payload }: Job): string => (payload as DeliverWork).mailId // the store has written it

async function failMessage(writer: ContentWriter, messageId: string, problem: string): Promise<void> {
  if (await endMessage(writer, messageId, 'failed', problem))
    writer.record({ type: 'mail.failed', subjectId: messageId })
}

async function refuseSuppressed(group: JobContext['group'], { recipient }: Message): Promise<void> {
  const suppression = await findSuppression(group, recipient)
  if (!suppression) return
  throw new PermanentFailure(
    `Not sent: nothing goes to this address any more (${suppression.reason}). ` +
      'Take it off the list with "sluice suppression remove", then retry.',
  )
}

/** What a transport could not deliver is tried again, unless that is of no use. */
function toJobFailure(error: unknown, { recipient }: Message): unknown {
  if (!(error instanceof DeliveryFailure) || !error.isPermanent) return error
  const { message: problem, refusesRecipient } = error
  return new PermanentFailure(problem, async (writer) => {
    if (refusesRecipient) await addSuppression(writer, recipient, problem)
  })
}

/**
 * Takes the messages of the outbox to where they are to go. Nobody can do that exactly once: when the connection is
 * lost, or this process dies, after the server got the whole message and before we know that it has taken it, the
 * message goes out again, under the same Message-ID. In all other cases once.
 */
export function deliverHandler({ resolveTransport, render }: DeliverDeps): JobHandler {
  /** The jobs whose message was taken, while that could not be written down: they are not to send it again. */
  const delivered = createLruMap<string, true>(mostRemembered)

  async function send(message: Message, { group, owner, signal, isOurs }: JobContext): Promise<void> {
    await refuseSuppressed(group, message)
    const way = await resolveTransport(group)
    const { raw } = await render(owner, group, message, way)
    const { id, groupId, recipient } = message
    try {
      await way.transport.deliver({ id, groupId, sender: way.sender, recipient, raw }, { signal, isOurs })
    } catch (error) {
      throw toJobFailure(error, message)
    }
  }

  /** A database that is away comes back: until then, or until the job is no longer ours, the message is not sent again. */
  async function noteDelivered(messageId: string, { finish, signal }: JobContext): Promise<void> {
    for (let waitMs = noteAgainMs.first; ; waitMs = Math.min(2 * waitMs, noteAgainMs.most)) {
      try {
        return await finish(async (writer) => void (await endMessage(writer, messageId, 'sent')))
      } catch (error) {
        await wait(waitMs, undefined, { signal }).catch(() => {
          throw error
        })
      }
    }
  }

  return {
    kind: deliverKind,
    retryAfterSeconds: retryDelaysSeconds.deliverMail,
    limitSeconds: 900, // the transport's own limits are 390 in all; the rest is for the wait for a connection
    atOnce: 20,
    maxPerGroup: 5,
    async run(job, context) {
      const message = await findMessage(context.group, messageIdOf(job))
      if (message?.state !== 'waiting' || message.jobId !== job.id) return
      if (!delivered.get(job.id)) await send(message, context)
      delivered.set(job.id, true)
      await noteDelivered(message.id, context)
      delivered.delete(job.id)
    },
    giveUp: (job, problem, writer) => failMessage(writer, messageIdOf(job), problem),
  }
}
