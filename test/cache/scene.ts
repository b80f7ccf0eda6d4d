import assert from 'node:assert/strict'
import { toIso } from '../../src/content/moments.ts'
import type { Cluster } from './cluster.ts'
import { newSides, type Side, type TestKey } from './side.ts'

/** What was done and seen in all scripts together. */
export interface Figures {
  scripts: number
  writes: number
  refusedWrites: number
  /** What kinds of write were done. */
  kinds: Set<string>
  clockSteps: number
  compared: number
  /** Answers that were right a moment ago; of this age at most. */
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

/** One script as it is being played. */
export interface Scene {
  cluster: Cluster
  sides: readonly [Side, Side]
  figures: Figures
  /** What has happened so far, for who has to find out why it went wrong. */
  trace: string[]
}

export async function openScene(cluster: Cluster, figures: Figures): Promise<Scene> {
  return { cluster, sides: await newSides(cluster), figures, trace: [] }
}

export function note({ cluster, trace }: Scene, line: string): void {
  trace.push(`${toIso(cluster.clock.now).slice(5)} ${line}`)
}

/** Where something happens: in one of the two processes, or in a third one. */
export type AnyPlace = 0 | 1 | 2

export const nameOf = ({ cluster }: Scene, at: AnyPlace): string => (at === 2 ? 'R' : cluster.instances[at].name)

export const sideOf = ({ sides }: Scene, who: number): Side => sides[who === 0 ? 0 : 1]

/** What each of the three keys opens: the side, and which of its keys it is. */
const slots = [[0, 0], [0, 1], [1, 0]] as const // biome-ignore format: short

export function slotOf(scene: Scene, key: number): { who: number; side: Side; slot: TestKey } {
  const [who, number] = slots[key] ?? slots[0]
  const side = sideOf(scene, who)
  return { who, side, slot: side.keys[number] ?? assert.fail() }
}

/** The key with which a side is asked when it does not matter which. */
export const anyKeyOf = ({ sides }: Scene, side: Side): number => (side === sides[0] ? 0 : 2)
