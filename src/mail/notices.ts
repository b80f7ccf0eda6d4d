import { deliverableAddress } from '../content/email.ts'
import type { MessageContent } from '../content/mail.ts'
import type { Container, StoredObject, StoredSite } from '../content/model.ts'
import { maxListed, nextNoticeMs, noticeSubject, noticeTitle, sitesToNotify, summaryOf } from '../content/notices.ts'
import type { JobHandler } from '../jobs/handler.ts'
import { retryDelaysSeconds } from '../jobs/retry-backoff.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { listContainers } from '../store/content/containers.ts'
import { findSite, listSites } from '../store/content/sites.ts'
import { insertJob } from '../store/jobs/jobs.ts'
import { insertMessage } from '../store/mail/messages.ts'
import {
  deletePendingNotices,
  findNoticePauseMs,
  findPendingNotices,
  insertPendingNotice,
  type PendingNotices,
  recordNoticeSent,
} from '../store/mail/notices.ts'
import { tryConsumeMailQuota } from '../store/mail/quotas.ts'
import type { Mail } from './types.ts'

const noticeKind = 'mail.notice'

/** What the job knows: what is to be told, it finds when it runs. */
interface NoticeWork {
  siteId: string
}

type ToldSite = Pick<StoredSite, 'id' | 'privateSettings'>

/** Asked for by several submissions, it is one job; another rhythm is another job, so that nobody waits for the old one. */
async function insertNoticeJob(writer: ContentWriter, site: ToldSite, runAtMs: number): Promise<void> {
  const payload: NoticeWork = { siteId: site.id }
  const topic = `${site.id} ${site.privateSettings.submissionNotices?.rhythm}`
  await insertJob(writer, { kind: noticeKind, payload, topic, runAtMs })
}

/** In the transaction of a submission: whoever wants to be told of it will be. */
export async function announceSubmission(
  writer: ContentWriter,
  collection: Container,
  object: StoredObject,
): Promise<void> {
  for (const site of sitesToNotify(await listSites(writer.group), collection.id)) {
    await insertPendingNotice(writer, site.id, object.id)
    const rhythm = site.privateSettings.submissionNotices?.rhythm ?? 'each'
    await insertNoticeJob(writer, site, nextNoticeMs(rhythm, writer.nowMs))
  }
}

function contentOf(
  site: StoredSite,
  collections: readonly Container[],
  { count, first }: PendingNotices,
): MessageContent {
  const found = first.flatMap(({ containerId, object }) => {
    const collection = collections.find(({ id }) => id === containerId)
    return collection ? [{ collection, object }] : []
  })
  const further = count - first.length
  return {
    siteId: site.id,
    siteName: site.name,
    title: noticeTitle(count, found[0]?.collection),
    submissions: found.map(({ collection, object }) => summaryOf(collection, object)),
    ...(further > 0 && { furtherSubmissions: further }),
  }
}

interface Sending {
  sender: string
  /** How many e-mails the group may send in a day. */
  dailyLimit: number
}

/** Gathered under the lock of the group: what is sent in meanwhile comes before it, and is in it, or after it. */
async function tellOwner(writer: ContentWriter, siteId: string, { sender, dailyLimit }: Sending): Promise<void> {
  const awaited = await findPendingNotices(writer.group, siteId, maxListed)
  if (awaited.count === 0) return
  const site = await findSite(writer.group, siteId)
  const to = deliverableAddress(site?.privateSettings.submissionNotices?.to ?? '')
  if (site && to !== undefined) {
    const restMs = await findNoticePauseMs(writer, siteId)
    if (restMs > writer.nowMs) return insertNoticeJob(writer, site, restMs)
    const tomorrowMs = await tryConsumeMailQuota(writer, dailyLimit)
    if (tomorrowMs !== undefined) return insertNoticeJob(writer, site, tomorrowMs)
    const content = contentOf(site, await listContainers(writer.group), awaited)
    const subject = noticeSubject(content.title ?? '', site.name)
    await insertMessage(writer, { kind: 'notice', recipient: to, replyTo: null, subject, content, sender })
    await recordNoticeSent(writer, siteId)
  }
  await deletePendingNotices(writer, siteId)
}

/** Tells owners of sites what visitors have sent in. */
export function noticeHandler({ senderOf, dailyLimits }: Pick<Mail, 'senderOf' | 'dailyLimits'>): JobHandler {
  return {
    kind: noticeKind,
    retryAfterSeconds: retryDelaysSeconds.sendNotice,
    limitSeconds: 60,
    async run({ payload }, { group, owner, finish }) {
      const { siteId } = payload as NoticeWork
      const sending = { sender: await senderOf(group), dailyLimit: dailyLimits[owner.tier] }
      await finish((writer) => tellOwner(writer, siteId, sending))
    },
  }
}
