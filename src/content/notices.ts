import { addressKey } from './email.ts'
import type { SubmissionSummary } from './mail.ts'
import type { Container, ContainerSettings, StoredObject, StoredSite, SubmissionNotices } from './model.ts'
import { collectionIdsIn } from './pages.ts'
import { asHeaderText, shorten } from './texts.ts'

/** Submissions listed in one notice; the others are only counted. */
export const maxListed = 20
const maxFields = 12
const maxCharacters = 300
/** In UTC. */
const dailyHour = 7

/**
 * The sites whose pages show the collection; if none does, all sites that want notices. An address is notified only once,
 * by the first of its sites.
 */
export function sitesToNotify(sites: readonly StoredSite[], collectionId: string): StoredSite[] {
  const showing = sites.filter(({ settings }) => collectionIdsIn(settings).includes(collectionId))
  const byAddress = new Map<string, StoredSite>()
  for (const site of showing.length > 0 ? showing : sites) {
    const { to } = site.privateSettings.submissionNotices ?? {}
    if (to !== undefined && !byAddress.has(addressKey(to))) byAddress.set(addressKey(to), site)
  }
  return [...byAddress.values()]
}

export function nextNoticeMs(rhythm: SubmissionNotices['rhythm'], nowMs: number): number {
  if (rhythm === 'each') return nowMs
  const today = new Date(nowMs).setUTCHours(dailyHour, 0, 0, 0)
  return today > nowMs ? today : new Date(nowMs).setUTCHours(24 + dailyHour, 0, 0, 0)
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join(', ') : JSON.stringify(value)
}

/** A few lines about a submission, private fields included: they are for the owner. */
export function summaryOf(collection: Container, { value, createdMs, review }: StoredObject): SubmissionSummary {
  const fields = [...collection.schema.keys()]
    .filter((name) => ![undefined, null, ''].includes(value[name] as undefined))
    .slice(0, maxFields)
    .map((name) => ({ name, text: shorten(textOf(value[name]), maxCharacters) }))
  return { collection: collection.name, createdMs, waits: review === 'pending', fields }
}

function nounOf(accepts: ContainerSettings['accepts'] = []): string {
  if (accepts.length !== 1) return 'submission'
  return accepts[0] === 'createReview' ? 'review' : 'subscriber'
}

export const noticeTitle = (count: number, collection: Container | undefined): string =>
  count === 1 ? `New ${nounOf(collection?.settings.accepts)}` : `${count} new submissions`

export const noticeSubject = (title: string, siteName: string): string => `${title} – ${asHeaderText(siteName)}`
