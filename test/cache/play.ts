import { draftPublishMs } from '../../src/content/model.ts'
import { signingWindow } from '../../src/media/signer.ts'
import { testStartMs } from '../helpers/harness.ts'
import type { Cluster } from './cluster.ts'
import { ask, judge, playRead, possibleFor, recheck, recordTruths } from './reads.ts'
import { type Figures, note, openScene, type Scene, slotOf } from './scene.ts'
import { kindOf, type Move, type ScriptStep, type Write } from './script.ts'
import { callVerb, doWrite } from './writes.ts'

const secondMs = 1000
const signedUrlTtlSeconds = 86_400

async function moveClock(scene: Scene, ms: number): Promise<void> {
  await scene.cluster.setClock(ms)
  for (const { content, control } of scene.sides) {
    content.arrive(ms)
    control.arrive(ms)
  }
  note(scene, 'clock set')
  scene.figures.clockSteps += 1
}

/** The publish dates of objects of both groups, past and future. */
async function publishDates({ sides }: Scene): Promise<number[]> {
  const rows = await sides[0].store.database.read
    .selectFrom('objects')
    .select('publish_ms')
    .distinct()
    .where(
      'group_id',
      'in',
      sides.map(({ groupId }) => groupId),
    )
    .where('publish_ms', '>', 0)
    .where('publish_ms', '<', draftPublishMs)
    .orderBy('publish_ms')
    .execute()
  return rows.map((row) => row.publish_ms)
}

async function destinationOf(scene: Scene, move: Move): Promise<number> {
  const { now } = scene.cluster.clock
  if (move.kind === 'by') return now + move.ms
  if (move.kind === 'to a publish date') {
    const dates = await publishDates(scene)
    return (dates[move.which % dates.length] ?? now) + move.offsetMs
  }
  const { startSeconds } = signingWindow(now, signedUrlTtlSeconds)
  return (startSeconds + signedUrlTtlSeconds / 2) * 1000 + move.offsetMs
}

/** A read sent before a write was acknowledged may be answered with the state before it; a later read may not. */
async function playRace(scene: Scene, { write, reads }: Extract<ScriptStep, { kind: 'race' }>): Promise<void> {
  const seen = reads.map((read) => slotOf(scene, read.key).side.own[read.at])
  await recordTruths(scene)
  for (const read of reads) await possibleFor(scene, read) // also for targets not requested before
  note(scene, 'at the same time:')
  const [side, answers] = await Promise.all([
    callVerb(scene, write),
    Promise.all(reads.map(async (read) => ({ read, asked: await ask(scene, read) }))),
  ])
  for (const [number, { read, asked }] of answers.entries())
    judge(scene, read, await possibleFor(scene, read, seen[number]), asked)
  await recheck(scene, side)
}

async function playWrite(scene: Scene, write: Write): Promise<void> {
  const { figures } = scene
  const before = figures.writes
  await recordTruths(scene)
  const side = await doWrite(scene, write)
  if (figures.writes > before) figures.kinds.add(kindOf(write))
  await recheck(scene, side)
}

async function playStep(scene: Scene, step: ScriptStep): Promise<void> {
  switch (step.kind) {
    case 'read':
      return playRead(scene, step)
    case 'write':
      return playWrite(scene, step.write)
    case 'clock':
      await moveClock(scene, await destinationOf(scene, step.move))
      return recheck(scene, scene.sides[0], 1)
    case 'race':
      return playRace(scene, step)
  }
}

/** Runs one script on two new groups, and throws at the first wrong answer. */
export async function playScript(cluster: Cluster, steps: readonly ScriptStep[], figures: Figures): Promise<void> {
  await cluster.setClock(testStartMs)
  const scene = await openScene(cluster, figures)
  for (const step of steps) await playStep(scene, step)
  await moveClock(scene, cluster.clock.now + secondMs) // both processes have now seen every write
  for (const side of scene.sides) await recheck(scene, side, Number.POSITIVE_INFINITY)
  figures.scripts += 1
}
