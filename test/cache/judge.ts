import { fail } from '../../src/core/envelope.ts'
import type { Tier } from '../../src/core/tiers.ts'
import type { Cluster } from './cluster.ts'
import { type Question, says } from './compare.ts'
import type { RawAnswer } from './instances.ts'
import type { TrueAnswer } from './reference.ts'
import type { Control, Side } from './side.ts'
import { spell } from './targets.ts'

const refusal = (status: number, body: object): TrueAnswer => ({
  status,
  body: JSON.stringify(body),
  etag: undefined,
  cacheControl: 'no-store',
})
const notValid = refusal(401, fail('Unauthorized', 'The API key is not valid.'))
const frozen = refusal(400, fail('GroupFrozen', 'The group is frozen'))

/** An answer that may be given. */
export interface Possible {
  answer: TrueAnswer
  /** For how long it has not been the right one any more; undefined for the one that is. */
  staleMs: number | undefined
}

/** What is right now. It is noted for the case that somebody says it later. */
export async function findTruth(
  { reference, clock }: Cluster,
  side: Side,
  target: number,
  tier: Tier,
): Promise<TrueAnswer> {
  const wanted = side.targets[target]
  if (!wanted) throw new Error(`There is no target ${target}.`)
  const name = `${target} ${tier} ${side.content.present()}`
  const byMoment = side.truths.get(name) ?? new Map<number, TrueAnswer>()
  side.truths.set(name, byMoment)
  const known = byMoment.get(clock.now)
  if (known) return known
  const answer = await reference.read(spell(wanted, 0), side.groupId, tier)
  byMoment.set(clock.now, answer)
  return answer
}

/** Numbers from one down to another. */
const downTo = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, step) => from - step)

const refusalOf = ({ revoked, frozen: isFrozen }: Control, key: string): TrueAnswer | undefined => {
  if (revoked.has(key)) return notValid
  return isFrozen ? frozen : undefined
}

/**
 * All that a process may answer at this moment, what is right now first. It must have seen its own writes to content, and
 * everybody's of a second ago; who is let in it may believe for a second, whoever changed it. Time is never late.
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
  for (const number of downTo(presentControl, control.oldestBelieved(now))) {
    const state = control.at(number)
    const staleMs = number === presentControl ? undefined : control.ageOf(number, now)
    const refused = refusalOf(state, key)
    if (refused) {
      possible.push({ answer: refused, staleMs })
      continue
    }
    possible.push({ answer: await findTruth(cluster, side, target, state.tier), staleMs })
    const oldest = Math.max(oldestSeen, content.oldestBelieved(now))
    for (const former of downTo(content.present() - 1, oldest)) {
      const formerMs = Math.max(staleMs ?? 0, content.ageOf(former, now))
      const answers = truths.get(`${target} ${state.tier} ${former}`)?.values() ?? []
      for (const answer of answers) possible.push({ answer, staleMs: formerMs })
    }
  }
  return possible
}

/** Which of the possible answers it is; undefined when it must not be given. */
export function recognise(answer: RawAnswer, possible: readonly Possible[], question: Question): Possible | undefined {
  return possible.find((one) => says(answer, one.answer, question))
}
