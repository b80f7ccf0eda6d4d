import { fail } from '../../src/core/envelope.ts'
import type { Tier } from '../../src/core/tiers.ts'
import type { Cluster } from './cluster.ts'
import { matches, type Question } from './compare.ts'
import type { RawAnswer } from './instances.ts'
import type { CorrectAnswer } from './reference.ts'
import type { Control, Side } from './side.ts'
import { spell } from './targets.ts'

const refusal = (status: number, body: object): CorrectAnswer => ({
  status,
  body: JSON.stringify(body),
  etag: undefined,
  cacheControl: 'no-store',
})
const notValid = refusal(401, fail('Unauthorized', 'The API key is not valid.'))
const frozen = refusal(400, fail('GroupFrozen', 'The group is frozen'))

/** A permitted answer. */
export interface Possible {
  answer: CorrectAnswer
  /** For how long it has been outdated; undefined for the current one. */
  staleMs: number | undefined
}

/** The correct answer at present, recorded because a process may still send it later. */
export async function correctAnswer(
  { reference, clock }: Cluster,
  side: Side,
  target: number,
  tier: Tier,
): Promise<CorrectAnswer> {
  const wanted = side.targets[target]
  if (!wanted) throw new Error(`There is no target ${target}.`)
  const name = `${target} ${tier} ${side.content.present()}`
  const byMoment = side.truths.get(name) ?? new Map<number, CorrectAnswer>()
  side.truths.set(name, byMoment)
  const known = byMoment.get(clock.now)
  if (known) return known
  const answer = await reference.read(spell(wanted, 0), side.groupId, tier)
  byMoment.set(clock.now, answer)
  return answer
}

const downTo = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, step) => from - step)

const refusalOf = ({ revoked, frozen: isFrozen }: Control, key: string): CorrectAnswer | undefined => {
  if (revoked.has(key)) return notValid
  return isFrozen ? frozen : undefined
}

/**
 * Everything that a process may answer at this moment, the current answer first. It must have seen its own writes to content
 * and all others that are a second old. It may cache access to the group for a second. Publish dates are always exact.
 */
export async function findPossible(
  cluster: Cluster,
  side: Side,
  target: number,
  key: string,
  oldestSeen: number,
): Promise<Possible[]> {
  const { content, control, truths } = side
  const { now } = cluster.clock
  const possible: Possible[] = []
  const presentControl = control.present()
  for (const number of downTo(presentControl, control.oldestCached(now))) {
    const state = control.at(number)
    const staleMs = number === presentControl ? undefined : control.ageOf(number, now)
    const refused = refusalOf(state, key)
    if (refused) {
      possible.push({ answer: refused, staleMs })
      continue
    }
    possible.push({ answer: await correctAnswer(cluster, side, target, state.tier), staleMs })
    const oldest = Math.max(oldestSeen, content.oldestCached(now))
    for (const former of downTo(content.present() - 1, oldest)) {
      const formerMs = Math.max(staleMs ?? 0, content.ageOf(former, now))
      const answers = truths.get(`${target} ${state.tier} ${former}`)?.values() ?? []
      for (const answer of answers) possible.push({ answer, staleMs: formerMs })
    }
  }
  return possible
}

/** Which of the possible answers it is; undefined if it is wrong. */
export function recognise(answer: RawAnswer, possible: readonly Possible[], question: Question): Possible | undefined {
  return possible.find((one) => matches(answer, one.answer, question))
}
