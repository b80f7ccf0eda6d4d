import type { Requests } from './ask.ts'
import { connections, type LoadResult } from './load.ts'
import { inCount, inKilobytes, inMs, inRatio, table } from './markdown.ts'
import type { Setup } from './part.ts'
import { median, range, shuffled } from './statistics.ts'

export interface Contender {
  name: string
  origin: string
  requests: Requests
}

/** Servers that answer the same question. The first one is the baseline. */
export interface Scenario {
  name: string
  contenders: readonly Contender[]
}

interface Standing extends Contender {
  results: LoadResult[]
}

interface Outcome {
  name: string
  standings: Standing[]
}

/** Lets the JIT compiler optimise the hot code first. */
const turnsToWarmUp = 2

/** Runs every contender of every scenario once in each round, so that other load on the machine affects all of them. */
export async function runContest(
  scenarios: readonly Scenario[],
  { load, rounds, seconds, progress }: Pick<Setup, 'load' | 'rounds' | 'seconds' | 'progress'>,
): Promise<Outcome[]> {
  const outcomes = scenarios.map(({ name, contenders }) => ({
    name,
    standings: contenders.map((contender): Standing => ({ ...contender, results: [] })),
  }))
  for (const { name, standings } of outcomes) {
    for (const { name: who, origin, requests } of standings) {
      progress(`warming up: ${name}, ${who}`)
      await load.run(origin, requests, turnsToWarmUp * seconds)
    }
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, standings } of outcomes) {
      for (const { name: who, origin, requests, results } of shuffled(standings)) {
        const result = await load.run(origin, requests, seconds)
        results.push(result)
        progress(`round ${round} of ${rounds}: ${name}, ${who}: ${inCount(result.perSecond)} requests/s`)
      }
    }
  }
  return outcomes
}

const ratesOf = ({ results }: Standing): number[] => results.map(({ perSecond }) => perSecond)

/** Ratios are taken within a round, between results measured seconds apart. */
export function reportContest(outcomes: readonly Outcome[]): string {
  const rows = outcomes.flatMap(({ name, standings }) => {
    const [first] = standings
    const baseline = first ? ratesOf(first) : []
    return standings.map((standing, position) => {
      const rates = ratesOf(standing)
      const ratios = rates.map((rate, round) => rate / (baseline[round] ?? Number.NaN))
      return [
        position === 0 ? name : '',
        standing.name,
        inKilobytes(median(standing.results.map(({ bytesPerAnswer }) => bytesPerAnswer))),
        range(rates, inCount),
        position === 0
          ? '1'
          : `**${inRatio(median(ratios))}** (${inRatio(Math.min(...ratios))} to ${inRatio(Math.max(...ratios))})`,
        inMs(median(standing.results.map(({ p50Ms }) => p50Ms))),
        inMs(median(standing.results.map(({ p99Ms }) => p99Ms))),
      ]
    })
  })
  const head = ['asked for', 'server', 'answer', 'requests/s', 'ratio', 'half within', '99 % within']
  return table(head, rows)
}

export const describeContest = ({ load, rounds, seconds }: Pick<Setup, 'load' | 'rounds' | 'seconds'>): string =>
  `Load by ${load.name} over ${connections} connections, ${rounds} rounds of ${seconds} s for each server, in which all took turns, after ${turnsToWarmUp * seconds} s to warm up.
Figures are the median of the rounds, with the minimum and the maximum in brackets. Ratios are taken within a round.`
