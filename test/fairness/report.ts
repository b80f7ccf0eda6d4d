import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'
import type { TestEngine } from '../helpers/harness.ts'
import type { Effect } from './run.ts'
import type { Size } from './world.ts'

/** The effects of all attacks on one operation. */
export interface OperationEffects {
  name: string
  caller: string
  effects: Effect[]
}

/** The limits for the other tenant, on an otherwise idle machine. */
export const targets = { waitMs: 250, rssBytes: 700 * 1e6 }

const worstBy = (effects: readonly Effect[], value: (effect: Effect) => number): number =>
  Math.max(0, ...effects.map(value))

const harm = ({ died, failures, worstReadMs, worstWriteMs, worstStallMs }: Effect): number =>
  (died ? 1e9 : 0) + failures * 1e6 + Math.max(worstReadMs, worstWriteMs, worstStallMs)

/** Describes every crossed limit. */
export function violationsOf({ name, effects }: Pick<OperationEffects, 'name' | 'effects'>): string[] {
  return effects.flatMap((effect) => {
    const { what, worstReadMs, worstWriteMs, failures, stalls, rssBytes, died } = effect
    return [
      died && 'the process died',
      failures > 0 && `${failures} failed for the other tenant`,
      worstReadMs > targets.waitMs && `a read waited ${Math.round(worstReadMs)} ms`,
      worstWriteMs > targets.waitMs && `a write waited ${Math.round(worstWriteMs)} ms`,
      stalls > 0 &&
        `${stalls} stalls, up to ${effect.worstStallMs} ms (CPU ${effect.worstStallCpuMs} ms) during ${effect.stalledDuring.join('; ')}`,
      rssBytes > targets.rssBytes && `${Math.round(rssBytes / 1e6)} MB of memory`,
    ]
      .filter((text) => text !== false)
      .map((text) => `${name}, ${what}: ${text}`)
  })
}

/** Waiting for a CPU or a disk is not caused by the attack. */
function waitsOf({ name, effects }: OperationEffects): string[] {
  return effects
    .filter(({ waits }) => waits > 0)
    .map(
      ({ what, waits, worstStallMs, worstStallCpuMs, stolenMs }) =>
        `${name}, ${what}: ${waits}, up to ${worstStallMs} ms (CPU ${worstStallCpuMs} ms; the host took ${stolenMs} ms)`,
    )
}

function row({ name, caller, effects }: OperationEffects): string {
  const worst = effects.toSorted((one, other) => harm(other) - harm(one))[0]
  const cells = [
    name,
    caller,
    effects.length,
    Math.round(worstBy(effects, ({ worstReadMs }) => worstReadMs)),
    Math.round(worstBy(effects, ({ worstWriteMs }) => worstWriteMs)),
    effects.reduce((sum, { failures }) => sum + failures, 0),
    effects.reduce((sum, { stalls }) => sum + stalls, 0),
    worstBy(effects, ({ worstStallMs }) => worstStallMs),
    worstBy(effects, ({ worstStallCpuMs }) => worstStallCpuMs),
    Math.round(worstBy(effects, ({ cpuMs }) => cpuMs)),
    Math.round(worstBy(effects, ({ rssBytes }) => rssBytes) / 1e6),
    effects.some(({ died }) => died) ? 'died' : (worst?.what ?? ''),
  ]
  return `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
}

/** The worst of several effects, as a progress line. */
export function summaryOf(effects: readonly Effect[]): string {
  const wait = worstBy(effects, ({ worstReadMs, worstWriteMs }) => Math.max(worstReadMs, worstWriteMs))
  return `${Math.round(wait)} ms, ${Math.round(worstBy(effects, ({ rssBytes }) => rssBytes) / 1e6)} MB`
}

function listed(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [title, '', ...texts.map((text) => `- ${text}`), '']
}

function table(engine: TestEngine, all: readonly OperationEffects[]): string[] {
  const effects = all.flatMap((one) => one.effects)
  const sum = (value: (effect: Effect) => number): number => effects.reduce((total, effect) => total + value(effect), 0)
  return [
    `## ${engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`,
    '',
    `${effects.length} attacks on ${all.length} operations. Worst wait of a read ${Math.round(worstBy(effects, ({ worstReadMs }) => worstReadMs))} ms, of a write ${Math.round(worstBy(effects, ({ worstWriteMs }) => worstWriteMs))} ms; ${sum(({ failures }) => failures)} failures for the other tenant; ${sum(({ stalls }) => stalls)} stalls over 100 ms by work, and ${sum(({ waits }) => waits)} in which the process waited for a CPU or a disk; at most ${Math.round(worstBy(effects, ({ rssBytes }) => rssBytes) / 1e6)} MB; the process died ${sum(({ died }) => (died ? 1 : 0))} times.`,
    '',
    '| operation | caller | attacks | worst read (ms) | worst write (ms) | failures | stalls | worst stall (ms) | of it CPU (ms) | CPU per request (ms) | RSS (MB) | worst attack |',
    '|---|---|---|---|---|---|---|---|---|---|---|---|',
    ...all.map(row),
    '',
    ...listed('Stalls in which the process computed for less than half of the time:', all.flatMap(waitsOf)),
    ...listed(
      'Crossed a limit once and not in two further attempts:',
      effects.flatMap(({ crossedOnce }) => crossedOnce),
    ),
    ...listed(
      'Crossed a limit while the host took cores away, and were repeated:',
      effects.flatMap(({ disturbed }) => disturbed),
    ),
  ]
}

export interface Report {
  size: Size
  results: ReadonlyMap<TestEngine, readonly OperationEffects[]>
}

export function writeReport(path: string, { size, results }: Report): void {
  const [cpu] = cpus()
  const lines = [
    '# Fairness: what one tenant can do to another',
    '',
    'Written by `npm run prove -- fairness`. It calls every route and every verb with the lowest role that is allowed to, using the costliest inputs that its schema',
    'and the stored content allow. Meanwhile another tenant in the same database sends a request every 20 ms: cached reads, uncached reads and, twice a second, a',
    'submission. The waits below are those of the other tenant; the stalls are what the service itself measured ([metrics](operations.md#metrics)). What a',
    'process does only once, such as loading the Stripe SDK, is done before the first attack.',
    '',
    'An attack that crosses a limit is tried twice more, and counts if it crosses one again. An attempt during which the host of this virtual machine',
    'gave more than 50 ms of its cores to others is repeated. Both are listed under the tables.',
    '',
    `Targets on an otherwise idle machine: no wait over ${targets.waitMs} ms, no 5xx for the other tenant, no stall over 100 ms by work (the service counts apart those in which it waited for a CPU or a disk), at most ${targets.rssBytes / 1e6} MB, and the process lives.`,
    '',
    `Machine: ${availableParallelism()} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}, Node ${process.version}; attackers, the other tenant, the service and the database all on it. Load average at the end: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}.`,
    `The attacker holds ${size.largeObjects} objects of ${size.largeCharacters} characters, as many with 900 tags and with 2,000 pictures, ${size.manyObjects} small ones and as many products, and sends each attack ${size.atOnce} times at once; ${size.slowReaders} connections ask and do not read.`,
    '',
    ...[...results].flatMap(([engine, all]) => table(engine, all)),
  ]
  writeFileSync(path, `${lines.join('\n').trimEnd()}\n`)
}
