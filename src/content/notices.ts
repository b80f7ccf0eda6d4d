import type { SubmissionSummary } from './mail.ts'
import type { Container, ContainerSettings, StoredObject, StoredSite, SubmissionNotices } from './model.ts'
import { collectionIdsIn } from './pages.ts'

/** What the owner of a site is told of what visitors send in. */

/** So many are described; of the rest it is said how many they are. */
export const mostListed = 20
const mostFields = 12
const mostCharacters = 300
/** Whoever is told once a day is told at this hour of UTC. */
const dailyHour = 7

/** Those whose pages show the collection. Where nobody's do, it concerns everybody who wants to be told. */
export function sitesToTell(sites: readonly StoredSite[], collectionId: string): StoredSite[] {
  const showing = sites.filter(({ settings }) => collectionIdsIn(settings).includes(collectionId))
  return (showing.length > 0 ? showing : sites).filter(({ privateSettings }) => privateSettings.submissionNotices)
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

function shorten(text: string): string {
  if (text.length <= mostCharacters) return text
  return `${text.slice(0, mostCharacters - 1).replace(/[\ud800-\udbff]$/, '')}…` // no half of a character pair
}

/** A few lines about a submission, with what is private: they are for the owner. */
export function summaryOf(collection: Container, { value, createdMs, review }: StoredObject): SubmissionSummary {
  const fields = [...collection.schema.keys()]
    .filter((name) => ![undefined, null, ''].includes(value[name] as undefined))
    .slice(0, mostFields)
    .map((name) => ({ name, text: shorten(textOf(value[name])) }))
  return { collection: collection.name, createdMs, waits: review === 'pending', fields }
}

/** By what it is, where its collection takes nothing else. */
function nounOf(accepts: ContainerSettings['accepts'] = []): string {
  if (accepts.length !== 1) return 'submission'
  return accepts[0] === 'createReview' ? 'review' : 'subscriber'
}

export function noticeTitle(count: number, collection: Container | undefined): string {
  return count === 1 ? `New ${nounOf(collection?.settings.accepts)}` : `${count} new submissions`
}

/** A name may be written over several lines; a subject is one. */
export const noticeSubject = (title: string, siteName: string): string =>
  `${title} – ${siteName.replace(/[\s\p{Cc}]+/gu, ' ').trim()}`
