import { addressKey } from './email.ts'
import type { SubmissionSummary } from './mail.ts'
import type { Container, ContainerSettings, StoredObject, StoredSite, SubmissionNotices } from './model.ts'
import { collectionIdsIn } from './pages.ts'
import { asHeaderText, shorten } from './texts.ts'

/** What the owner of a site is told of what visitors send in. */

/** So many are described; of the rest it is said how many they are. */
export const mostListed = 20
const mostFields = 12
const mostCharacters = 300
/** Whoever is told once a day is told at this hour of UTC. */
const dailyHour = 7

/**
 * Those whose pages show the collection. Where nobody's do, it concerns everybody who wants to be told. Nobody is told
 * twice, in the name of two sites.
 */
export function sitesToTell(sites: readonly StoredSite[], collectionId: string): StoredSite[] {
  const showing = sites.filter(({ settings }) => collectionIdsIn(settings).includes(collectionId))
  const told = new Map<string, StoredSite>()
  for (const site of showing.length > 0 ? showing : sites) {
    const { to } = site.privateSettings.submissionNotices ?? {}
    if (to !== undefined && !told.has(addressKey(to))) told.set(addressKey(to), site)
  }
  return [...told.values()]
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

/** A few lines about a submission, with what is private: they are for the owner. */
export function summaryOf(collection: Container, { value, createdMs, review }: StoredObject): SubmissionSummary {
  const fields = [...collection.schema.keys()]
    .filter((name) => ![undefined, null, ''].includes(value[name] as undefined))
    .slice(0, mostFields)
    .map((name) => ({ name, text: shorten(textOf(value[name]), mostCharacters) }))
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

export const noticeSubject = (title: string, siteName: string): string => `${title} – ${asHeaderText(siteName)}`
