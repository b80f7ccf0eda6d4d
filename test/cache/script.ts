import fc from 'fast-check'
import { type Step, step, verbNames } from '../helpers/verb-steps.ts'
import { targetCount } from './targets.ts'

/** One of the two processes with a cache. */
type InstanceIndex = 0 | 1

export interface Read {
  kind: 'read'
  at: InstanceIndex
  /** Which of the three keys: two of the first group, one of the second. */
  key: number
  /** Whether to send the revoked key that the present one replaced, if any. */
  isFormerKey: boolean
  target: number
  spelling: number
  method: 'GET' | 'HEAD'
  acceptEncoding: string | undefined
  /** Which of the ETags received for this target it sends. */
  cachedTags: 'none' | 'last' | 'former' | 'several' | 'any'
  times: number
  atOnce: number
}

/** One of the two processes, or a third one that has no cache. */
type ProcessIndex = InstanceIndex | 2

type Write =
  | { kind: 'verb'; at: ProcessIndex; step: Step }
  | { kind: 'schedule'; at: ProcessIndex; who: number; object: number; afterMs: number }
  | { kind: 'submit'; at: InstanceIndex; who: number; isModerated: boolean; rating: number }
  | { kind: 'replace'; at: InstanceIndex; who: number; file: number; size: number }
  | { kind: 'jobs'; at: InstanceIndex; who: number }
  | { kind: 'renew key'; at: ProcessIndex; key: number }

export type Move =
  | { kind: 'by'; ms: number }
  | { kind: 'to a publish date'; which: number; offsetMs: number }
  | { kind: 'to the end of a signing window'; offsetMs: number }

export type ScriptStep =
  | Read
  | { kind: 'write'; write: Write }
  | { kind: 'clock'; move: Move }
  /** Reads concurrent with a write. */
  | { kind: 'race'; write: Extract<Write, { kind: 'verb' }>; reads: Read[] }

export type { Write }

export const kindOf = (write: Write): string => (write.kind === 'verb' ? write.step.verb : write.kind)

export const writeKinds = [...verbNames, 'schedule', 'submit', 'replace', 'jobs', 'renew key']

const secondMs = 1000
const hourMs = 3_600_000
const instance = fc.constantFrom<InstanceIndex>(0, 1)
const anyProcess = fc.constantFrom<ProcessIndex>(0, 0, 1, 1, 2)
const who = fc.constantFrom(0, 0, 0, 1)
const key = fc.constantFrom(0, 0, 0, 1, 2)
const around = fc.constantFrom(-1, 0, 0, 1)
const seldom = fc.nat(11).map((n) => n === 0)

const read: fc.Arbitrary<Read> = fc.record({
  kind: fc.constant('read'),
  at: instance,
  key,
  isFormerKey: seldom,
  // A few are requested far more often.
  target: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(0, 0, 1) },
    { weight: 2, arbitrary: fc.nat(targetCount - 1) },
  ),
  spelling: fc.constantFrom(0, 0, 0, 1, 2, 3),
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  acceptEncoding: fc.constantFrom(undefined, undefined, 'gzip', 'br', 'gzip, br;q=0.5'),
  cachedTags: fc.constantFrom('none', 'none', 'none', 'last', 'former', 'several', 'any'),
  times: fc.constantFrom(1, 2, 3),
  atOnce: fc.constantFrom(1, 1, 1, 4),
})

const verbWrite = fc.record({ kind: fc.constant('verb' as const), at: anyProcess, step })
const oneOfVerbs = (...verbs: string[]) =>
  fc.tuple(verbWrite, fc.constantFrom(...verbs)).map(([write, verb]) => ({ ...write, step: { ...write.step, verb } }))
const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 12, arbitrary: verbWrite },
  { weight: 2, arbitrary: oneOfVerbs('group set-tier', 'group set-tier', 'group freeze') },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('schedule' as const),
      at: anyProcess,
      who,
      object: fc.nat(9),
      afterMs: fc.constantFrom(1, 10, 400, 999, secondMs, 1500, hourMs),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('submit' as const),
      at: instance,
      who,
      isModerated: fc.boolean(),
      rating: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('replace' as const),
      at: instance,
      who,
      file: fc.nat(1),
      size: fc.integer({ min: 1, max: 40 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('jobs' as const), at: instance, who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew key' as const), at: anyProcess, key }) },
)

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('by' as const),
      ms: fc.constantFrom(
        1,
        10,
        300,
        999,
        secondMs,
        1001,
        5 * secondMs,
        hourMs,
        6 * hourMs,
        -1,
        -500,
        -secondMs,
        -hourMs,
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('to a publish date' as const), which: fc.nat(9), offsetMs: around }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('to the end of a signing window' as const), offsetMs: around }),
  },
)

/** Verbs with a single transaction, so that no read falls between two. */
const atomicVerbs = [
  'object create',
  'object patch',
  'object publish',
  'object archive',
  'site update',
  'product update',
]
const race = fc.record({
  kind: fc.constant('race' as const),
  write: oneOfVerbs(...atomicVerbs),
  reads: fc.array(read, { minLength: 2, maxLength: 5 }),
})

const scriptStep: fc.Arbitrary<ScriptStep> = fc.oneof(
  { weight: 8, arbitrary: read },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('write' as const), write }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('clock' as const), move }) },
  { weight: 1, arbitrary: race },
)

export const script: fc.Arbitrary<ScriptStep[]> = fc.array(scriptStep, { minLength: 15, maxLength: 30 })
