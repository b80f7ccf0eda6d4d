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

interface NoticePayload {
  siteId: string
}

type NotifiedSite = Pick<StoredSite, 'id' | 'privateSettings'>

/** One job for each site and rhythm, so that a changed rhythm does not wait for the job of the former one. */
async function insertNoticeJob(writer: ContentWriter, site: NotifiedSite, runAtMs: number): Promise<void> {
  const payload: NoticePayload = { siteId: site.id }
  const topic = `${site.id} ${site.privateSettings.submissionNotices?.rhythm}`
  await insertJob(writer, { kind: noticeKind, payload, topic, runAtMs })
}

/** Queues notices to the owners of sites, in the transaction of a submission. */
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
  dailyLimit: number
}

/** Under the group's lock, so that every submission is in exactly one notice. */
async function sendNotice(writer: ContentWriter, siteId: string, { sender, dailyLimit }: Sending): Promise<void> {
  const pending = await findPendingNotices(writer.group, siteId, maxListed)
  if (pending.count === 0) return
  const site = await findSite(writer.group, siteId)
  const to = deliverableAddress(site?.privateSettings.submissionNotices?.to ?? '')
  if (site && to !== undefined) {
    const pauseEndMs = await findNoticePauseMs(writer, siteId)
    if (pauseEndMs > writer.nowMs) return insertNoticeJob(writer, site, pauseEndMs)
    const tomorrowMs = await tryConsumeMailQuota(writer, dailyLimit)
    if (tomorrowMs !== undefined) return insertNoticeJob(writer, site, tomorrowMs)
    const content = contentOf(site, await listContainers(writer.group), pending)
    const subject = noticeSubject(content.title ?? '', site.name)
    await insertMessage(writer, { kind: 'notice', recipient: to, replyTo: null, subject, content, sender })
    await recordNoticeSent(writer, siteId)
  }
  await deletePendingNotices(writer, siteId)
}

/** Notifies the owners of sites of submissions. */
export function noticeHandler({ senderOf, dailyLimits }: Pick<Mail, 'senderOf' | 'dailyLimits'>): JobHandler {
  return {
    kind: noticeKind,
    retryDelaysSeconds: retryDelaysSeconds.sendNotice,
    maxSeconds: 60,
    async run({ payload }, { group, owner, finish }) {
      const { siteId } = payload as NoticePayload
      const sending = { sender: await senderOf(group), dailyLimit: dailyLimits[owner.tier] }
      await finish((writer) => sendNotice(writer, siteId, sending))
    },
  }
}
