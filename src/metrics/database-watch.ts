import { raceWithAbort } from '../concurrency/race-with-abort.ts'
import { messageStates } from '../content/mail.ts'
import type { Clock } from '../core/clock.ts'
import { countJobs, type JobCount, reportedJobStates } from '../store/jobs/jobs.ts'
import { countMessages, type MessageCount } from '../store/mail/messages.ts'
import { databaseNamesInUse, type Store } from '../store/store.ts'
import { families } from './families.ts'
import { type Reading, type Sample, single } from './text-format.ts'

/** Databases are not asked more often than that, whoever scrapes how often. */
const restMs = 10_000
/** A database that has not answered by then is away. */
const queryLimitMs = 4000
/** A scrape waits no longer than that for all of them, and tells what is known by then. */
const lookLimitMs = 5000

/** What is in a database. */
interface Counts {
  jobs: JobCount[]
  messages: MessageCount[]
}

const inTime = <Value>(work: Promise<Value>, limitMs: number): Promise<Value> =>
  raceWithAbort(work, AbortSignal.timeout(limitMs))

async function countIn(store: Store, name: string): Promise<Counts> {
  const database = await store.content(name)
  return { jobs: await countJobs(database), messages: await countMessages(database) }
}

/** Every state of each kind that was ever seen, so that none vanishes where it should be zero. */
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

/** Counts what is in the databases. Those that are away are left out of the sums. */
export function watchDatabases(store: Store, clock: Clock): { read(): Promise<Reading[]> } {
  /** What each content database said when it was last asked; undefined where it did not answer. */
  const found = new Map<string, Counts | undefined>()
  const kinds = new Set<string>()
  let isControlUp = false
  let looking: Promise<void> | undefined
  let lookedMs: number | undefined

  /** One after the other: counting never takes more than one connection, and with control away the rest is not asked. */
  async function look(): Promise<void> {
    const names = await inTime(databaseNamesInUse(store.control), queryLimitMs).catch(() => undefined)
    isControlUp = names !== undefined
    for (const name of found.keys()) {
      if (!names) found.set(name, undefined)
      else if (!names.includes(name)) found.delete(name)
    }
    for (const name of names ?? []) {
      const counts = await inTime(countIn(store, name), queryLimitMs).catch(() => undefined)
      found.set(name, counts)
      for (const { kind } of counts?.jobs ?? []) kinds.add(kind)
    }
  }

  function lookIfDue(): Promise<void> | undefined {
    const nowMs = clock()
    const isFresh = lookedMs !== undefined && nowMs >= lookedMs && nowMs - lookedMs < restMs
    if (isFresh) return undefined
    looking ??= look().finally(() => {
      lookedMs = clock()
      looking = undefined
    })
    return looking
  }

  return {
    async read() {
      const underWay = lookIfDue()
      if (underWay) await inTime(underWay, lookLimitMs).catch(() => {}) // what is late is told the next time
      const answers = [...found.values()].filter((counts) => counts !== undefined)
      return [
        single(families.databases, 1 + found.size),
        single(families.upDatabases, Number(isControlUp) + answers.length),
        { family: families.jobs, samples: jobSamples(answers, kinds) },
        { family: families.mailMessages, samples: messageSamples(answers) },
      ]
    },
  }
}
