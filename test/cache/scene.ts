import assert from 'node:assert/strict'
import { toIso } from '../../src/content/moments.ts'
import type { Cluster } from './cluster.ts'
import { newSides, type Side, type TestKey } from './side.ts'

/** Totals over all scripts. */
export interface Figures {
  scripts: number
  writes: number
  refusedWrites: number
  /** The kinds of write that succeeded. */
  kinds: Set<string>
  clockSteps: number
  compared: number
  /** Permitted answers that were outdated. */
  stale: number
  oldestStaleMs: number
}

export const noFigures = (): Figures => ({
  scripts: 0,
  writes: 0,
  refusedWrites: 0,
  kinds: new Set(),
  clockSteps: 0,
  compared: 0,
  stale: 0,
  oldestStaleMs: 0,
})

/** The state of a running script. */
export interface Scene {
  cluster: Cluster
  sides: readonly [Side, Side]
  figures: Figures
  /** What has happened so far, for the failure message. */
  trace: string[]
}

export async function openScene(cluster: Cluster, figures: Figures): Promise<Scene> {
  return { cluster, sides: await newSides(cluster), figures, trace: [] }
}

export function note({ cluster, trace }: Scene, line: string): void {
  trace.push(`${toIso(cluster.clock.now).slice(5)} ${line}`)
}

/** One of the two processes with a cache, or the third process. */
export type ProcessIndex = 0 | 1 | 2

export const nameOf = ({ cluster }: Scene, at: ProcessIndex): string => (at === 2 ? 'R' : cluster.instances[at].name)

export const sideOf = ({ sides }: Scene, who: number): Side => sides[who === 0 ? 0 : 1]

/** Of each of the three keys: the side, and the index among its keys. */
const slots = [[0, 0], [0, 1], [1, 0]] as const // biome-ignore format: short

export function slotOf(scene: Scene, key: number): { who: number; side: Side; slot: TestKey } {
  const [who, number] = slots[key] ?? slots[0]
  const side = sideOf(scene, who)
  return { who, side, slot: side.keys[number] ?? assert.fail() }
}

/** Some key of the side. */
export const anyKeyOf = ({ sides }: Scene, side: Side): number => (side === sides[0] ? 0 : 2)
