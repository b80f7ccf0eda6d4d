import fc from 'fast-check'
import { type Step, step, verbNames } from '../helpers/verb-steps.ts'
import { targetCount } from './targets.ts'

/** One of the two processes with a cache. */
type Place = 0 | 1

export interface Read {
  kind: 'read'
  at: Place
  /** Which of the three keys: two of the first group, one of the second. */
  key: number
  /** With the key that the present one has replaced, if there was one. */
  isFormerKey: boolean
  target: number
  spelling: number
  method: 'GET' | 'HEAD'
  acceptEncoding: string | undefined
  /** Which ETags it knows of those that came for this target. */
  knows: 'none' | 'last' | 'former' | 'several' | 'any'
  times: number
  atOnce: number
}

/** Where a write goes: to one of the two, or to a third process that has no cache. */
type WritePlace = Place | 2

type Write =
  | { kind: 'verb'; at: WritePlace; step: Step }
  | { kind: 'schedule'; at: WritePlace; who: number; object: number; afterMs: number }
  | { kind: 'submit'; at: Place; who: number; isModerated: boolean; rating: number }
  | { kind: 'replace'; at: Place; who: number; file: number; size: number }
  | { kind: 'jobs'; at: Place; who: number }
  | { kind: 'renew key'; at: WritePlace; key: number }

export type Move =
  | { kind: 'by'; ms: number }
  | { kind: 'to a publish date'; which: number; offsetMs: number }
  | { kind: 'to the end of a signing window'; offsetMs: number }

export type ScriptStep =
  | Read
  | { kind: 'write'; write: Write }
  | { kind: 'clock'; move: Move }
  /** Reads while somebody writes. */
  | { kind: 'race'; write: Extract<Write, { kind: 'verb' }>; reads: Read[] }

export type { Write }

export const kindOf = (write: Write): string => (write.kind === 'verb' ? write.step.verb : write.kind)

/** Those that can be done; one of the verbs only reads. */
export const writeKinds = [...verbNames, 'schedule', 'submit', 'replace', 'jobs', 'renew key']

const secondMs = 1000
const hourMs = 3_600_000
const place = fc.constantFrom<Place>(0, 1)
const writePlace = fc.constantFrom<WritePlace>(0, 0, 1, 1, 2)
const who = fc.constantFrom(0, 0, 0, 1)
const key = fc.constantFrom(0, 0, 0, 1, 2)
const around = fc.constantFrom(-1, 0, 0, 1)
const seldom = fc.nat(11).map((n) => n === 0)

const read: fc.Arbitrary<Read> = fc.record({
  kind: fc.constant('read'),
  at: place,
  key,
  isFormerKey: seldom,
  // A few are asked for again and again.
  target: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(0, 0, 1) },
    { weight: 2, arbitrary: fc.nat(targetCount - 1) },
  ),
  spelling: fc.constantFrom(0, 0, 0, 1, 2, 3),
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  acceptEncoding: fc.constantFrom(undefined, undefined, 'gzip', 'br', 'gzip, br;q=0.5'),
  knows: fc.constantFrom('none', 'none', 'none', 'last', 'former', 'several', 'any'),
  times: fc.constantFrom(1, 2, 3),
  atOnce: fc.constantFrom(1, 1, 1, 4),
})

const verbWrite = fc.record({ kind: fc.constant('verb' as const), at: writePlace, step })
const oneOfVerbs = (...verbs: string[]) =>
  fc.tuple(verbWrite, fc.constantFrom(...verbs)).map(([write, verb]) => ({ ...write, step: { ...write.step, verb } }))
const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 12, arbitrary: verbWrite },
  { weight: 2, arbitrary: oneOfVerbs('group set-tier', 'group set-tier', 'group freeze') },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('schedule' as const),
      at: writePlace,
      who,
      object: fc.nat(9),
      afterMs: fc.constantFrom(1, 10, 400, 999, secondMs, 1500, hourMs),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('submit' as const),
      at: place,
      who,
      isModerated: fc.boolean(),
      rating: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('replace' as const),
      at: place,
      who,
      file: fc.nat(1),
      size: fc.integer({ min: 1, max: 40 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('jobs' as const), at: place, who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew key' as const), at: writePlace, key }) },
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

/** Verbs of one transaction: nobody can come between its parts. */
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
