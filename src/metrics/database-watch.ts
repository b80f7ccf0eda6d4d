import { raceWithAbort } from '../concurrency/race-with-abort.ts'
import { messageStates } from '../content/mail.ts'
import type { Clock } from '../core/clock.ts'
import { countJobs, type JobCount, reportedJobStates } from '../store/jobs/jobs.ts'
import { countMessages, type MessageCount } from '../store/mail/messages.ts'
import { databaseNamesInUse, type Store } from '../store/store.ts'
import { families } from './families.ts'
import { type Reading, type Sample, single } from './text-format.ts'

/** Minimum time between counts, regardless of scrapes. */
const minIntervalMs = 10_000
/** A database that does not answer in time counts as down. */
const queryTimeoutMs = 4000
/** How long a scrape waits for new counts before it reports the latest ones. */
const scrapeTimeoutMs = 5000

interface Counts {
  jobs: JobCount[]
  messages: MessageCount[]
}

const withTimeout = <Value>(work: Promise<Value>, timeoutMs: number): Promise<Value> =>
  raceWithAbort(work, AbortSignal.timeout(timeoutMs))

async function countIn(store: Store, name: string): Promise<Counts> {
  const database = await store.content(name)
  return { jobs: await countJobs(database), messages: await countMessages(database) }
}

/** Every state of every kind seen so far, so that a series drops to zero instead of disappearing. */
function jobSamples(counts: readonly Counts[], kinds: ReadonlySet<string>): Sample[] {
  const all = counts.flatMap(({ jobs }) => jobs)
  const countOf = (kind: string, state: string): number =>
    all.reduce((sum, job) => (job.kind === kind && job.state === state ? sum + job.count : sum), 0)
  return [...kinds]
    .sort()
    .flatMap((kind) => reportedJobStates.map((state) => ({ labels: [kind, state], value: countOf(kind, state) })))
}

function messageSamples(counts: readonly Counts[]): Sample[] {
  const all = counts.flatMap(({ messages }) => messages)
  return messageStates.map((state) => ({
    labels: [state],
    value: all.reduce((sum, message) => (message.state === state ? sum + message.count : sum), 0),
  }))
}

/** Counts jobs and e-mails in all databases that answer. */
export function watchDatabases(store: Store, clock: Clock): { read(): Promise<Reading[]> } {
  /** The latest counts of each content database; undefined when it did not answer. */
  const countsByName = new Map<string, Counts | undefined>()
  const kinds = new Set<string>()
  let isControlUp = false
  let refreshing: Promise<void> | undefined
  let refreshedMs: number | undefined

  /** One database after the other, so that counting takes one connection at most. */
  async function refresh(): Promise<void> {
    const names = await withTimeout(databaseNamesInUse(store.control), queryTimeoutMs).catch(() => undefined)
    isControlUp = names !== undefined
    for (const name of countsByName.keys()) {
      if (!names) countsByName.set(name, undefined)
      else if (!names.includes(name)) countsByName.delete(name)
    }
    for (const name of names ?? []) {
      const counts = await withTimeout(countIn(store, name), queryTimeoutMs).catch(() => undefined)
      countsByName.set(name, counts)
      for (const { kind } of counts?.jobs ?? []) kinds.add(kind)
    }
  }

  function refreshIfDue(): Promise<void> | undefined {
    const nowMs = clock()
    const isFresh = refreshedMs !== undefined && nowMs >= refreshedMs && nowMs - refreshedMs < minIntervalMs
    if (isFresh) return undefined
    refreshing ??= refresh().finally(() => {
      refreshedMs = clock()
      refreshing = undefined
    })
    return refreshing
  }

  return {
    async read() {
      const pending = refreshIfDue()
      if (pending) await withTimeout(pending, scrapeTimeoutMs).catch(() => {}) // late counts are in the next scrape
      const answers = [...countsByName.values()].filter((counts) => counts !== undefined)
      return [
        single(families.databases, 1 + countsByName.size),
        single(families.upDatabases, Number(isControlUp) + answers.length),
        { family: families.jobs, samples: jobSamples(answers, kinds) },
        { family: families.mailMessages, samples: messageSamples(answers) },
      ]
    },
  }
}
