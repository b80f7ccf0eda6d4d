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

const maxUnrecorded = 10_000
/** Backoff while the database is down. */
const recordBackoffMs = { first: 100, max: 5000 }

const messageIdOf = ({ payload }: Job): string => (payload as DeliverWork).mailId // written by the store

async function failMessage(writer: ContentWriter, messageId: string, problem: string): Promise<void> {
  if (await endMessage(writer, messageId, 'failed', problem))
    writer.record({ type: 'mail.failed', subjectId: messageId })
}

async function refuseSuppressed(group: JobContext['group'], { recipient }: Message): Promise<void> {
  const suppression = await findSuppression(group, recipient)
  if (!suppression) return
  throw new PermanentFailure(
    `Not sent: this address is suppressed (${suppression.reason}). ` +
      'Remove it from the list with "sluice suppression remove", then retry.',
  )
}

/** Delivery is retried unless the failure is permanent. */
function toJobFailure(error: unknown, { recipient }: Message): unknown {
  if (!(error instanceof DeliveryFailure) || !error.isPermanent) return error
  const { message: problem, refusesRecipient } = error
  return new PermanentFailure(problem, async (writer) => {
    if (refusesRecipient) await addSuppression(writer, recipient, problem)
  })
}

/**
 * Delivers the outbox. Exactly-once delivery is impossible with SMTP: when the connection is lost or this process dies between the
 * end of a message and the server's reply, the message is sent again, with the same Message-ID. Otherwise it is sent once.
 */
export function deliverHandler({ resolveTransport, render }: DeliverDeps): JobHandler {
  /** Jobs whose message the server accepted but which are not recorded yet: they must not send it again. */
  const delivered = createLruMap<string, true>(maxUnrecorded)

  async function send(message: Message, { group, owner, signal, isOurs }: JobContext): Promise<void> {
    await refuseSuppressed(group, message)
    const { transport, ...origin } = await resolveTransport(group)
    const { raw } = await render(owner, group, message, origin)
    const { id, groupId, recipient } = message
    try {
      await transport.deliver({ id, groupId, sender: origin.sender, recipient, raw }, { signal, isOurs })
    } catch (error) {
      throw toJobFailure(error, message)
    }
  }

  /** Retries while the database is down and the lease lasts, so that the message is not sent again. */
  async function recordDelivery(messageId: string, { finish, signal }: JobContext): Promise<void> {
    for (let waitMs = recordBackoffMs.first; ; waitMs = Math.min(2 * waitMs, recordBackoffMs.max)) {
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
    retryDelaysSeconds: retryDelaysSeconds.deliverMail,
    maxSeconds: 900, // the transport's own timeouts are 390 in all; the rest is for the wait for a permit
    maxPerWorker: 20,
    maxPerGroup: 5,
    async run(job, context) {
      const message = await findMessage(context.group, messageIdOf(job))
      if (message?.state !== 'waiting' || message.jobId !== job.id) return
      if (!delivered.get(job.id)) await send(message, context)
      delivered.set(job.id, true)
      await recordDelivery(message.id, context)
      delivered.delete(job.id)
    },
    giveUp: (job, problem, writer) => failMessage(writer, messageIdOf(job), problem),
  }
}
