import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { leaseMs } from '../../src/store/jobs/claim-jobs.ts'
import { insertJob } from '../../src/store/jobs/jobs.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { write } from '../helpers/authoring.ts'
import { countJobs } from '../helpers/count-jobs.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { testKind } from './test-handlers.ts'
import type { WorkerOptions } from './worker-process.ts'
import { effectsIn, until as untilSoon, type Workshop, workshop } from './workshop.ts'

/** `npm run prove` sets more. */
const rounds = Number(process.env.KILL_ROUNDS ?? 2)
/** More than the 80 that may have begun before a kill. */
const jobsPerRound = 100
const sharedJobs = process.env.PROVE === '1' ? 500 : 250
const program = join(import.meta.dirname, 'worker-process.ts')

/** Polls rarely, to leave the CPU to the processes. */
const until = (condition: () => boolean | Promise<boolean>, everyMs = 50): Promise<void> =>
  untilSoon(() => sleep(everyMs).then(condition))

function startProcess(options: WorkerOptions) {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk))
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  after(kill)
  return { begun: () => output.split('\n').slice(0, -1), kill }
}

async function addJobs({ newGroup }: Workshop, count: number): Promise<GroupStore> {
  const group = await newGroup()
  await write(group, Date.now(), async (writer) => {
    for (let n = 0; n < count; n += 1) await insertJob(writer, { kind: testKind, payload: { n } })
  })
  return group
}

onBothEngines('processes on one database', (engine) => {
  it('share jobs, each of which is started once', async () => {
    const created = await workshop(engine)
    const group = await addJobs(created, sharedJobs)
    const processes = [0, 1].map(() => startProcess({ ...created.location, aheadMs: 0 }))
    await until(async () => (await countJobs(group.database)).done === sharedJobs)
    for (const { kill } of processes) await kill()
    const begun = processes.flatMap((one) => one.begun())
    assert.deepEqual([begun.length, new Set(begun).size], [sharedJobs, sharedJobs])
    assert.equal(new Set(await effectsIn(group)).size, sharedJobs)
  })

  it('may be killed at any moment: every job has its effect exactly once, and none is left', async (context) => {
    const created = await workshop(engine)
    const group = await addJobs(created, rounds * jobsPerRound)
    const begun: string[] = []
    for (let round = 0; round < rounds; round += 1) {
      // Each starts when the leases of the previous one have expired.
      const killed = startProcess({ ...created.location, aheadMs: round * (leaseMs + 1000) })
      await until(() => killed.begun().length >= 20 + ((round * 17) % 60), 5)
      await sleep(round % 5) // at some point within a job
      await killed.kill()
      begun.push(...killed.begun())
    }
    const last = startProcess({ ...created.location, aheadMs: rounds * (leaseMs + 1000) })
    await until(async () => (await countJobs(group.database)).done === rounds * jobsPerRound)
    await last.kill()
    const effects = await effectsIn(group)
    const expected = Array.from({ length: rounds * jobsPerRound }, (_, n) => `effect ${n}`)
    assert.deepEqual(effects.toSorted(), expected.toSorted())
    const attempts = begun.length + last.begun().length
    context.diagnostic(`${engine}: ${rounds} kills, ${effects.length} jobs, begun ${attempts} times, each done once`)
  })
})
