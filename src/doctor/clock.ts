import { stat } from 'node:fs/promises'
import { toIso } from '../content/moments.ts'
import { readDatabaseTime, readLatestContentWrite, readLatestControlWrite } from '../store/check-clock.ts'
import { currentOf } from '../store/check-open.ts'
import type { Check, DoctorContext, Finding } from './check.ts'
import { openDatabases } from './databases.ts'
import { inTime } from './words.ts'

const secondMs = 1000
const skew = { attentionMs: 2 * secondMs, wrongMs: 30 * secondMs }
/** Some file systems and network drives keep a time of their own, a little off. */
const fileToleranceMs = 3600 * secondMs

const setClock = 'Let the clocks of all machines be set by the network:'
const setClockCommands = ['timedatectl set-ntp true', 'timedatectl status']

/** The answer was made between asking and hearing it: only what lies outside is a difference. */
async function compareWithDatabase(ctx: DoctorContext): Promise<Finding[]> {
  const [found] = await openDatabases(ctx)
  if (found?.database?.engine !== 'postgres') return []
  const askedMs = ctx.clock()
  const theirMs = await readDatabaseTime(found.database)
  const aheadMs = Math.max(theirMs - ctx.clock(), askedMs - theirMs)
  if (aheadMs <= skew.attentionMs) return []
  return [
    {
      level: aheadMs > skew.wrongMs ? 'wrong' : 'attention',
      what: `The clock of the database is ${inTime(aheadMs)} ${theirMs > askedMs ? 'ahead of' : 'behind'} this machine's.`,
      advice: `One of them is wrong: content appears and tokens end at the wrong time. ${setClock}`,
      commands: setClockCommands,
    },
  ]
}

const fromTheFuture = (what: string, aheadMs: number): Finding => ({
  level: 'attention',
  what: `${what}, ${inTime(aheadMs)} from now.`,
  advice: `This machine's clock is behind, or one was ahead when it was written. ${setClock}`,
  commands: setClockCommands,
})

async function findFutureWrites(ctx: DoctorContext): Promise<Finding[]> {
  const { control, contents } = await ctx.databases()
  const latest: [place: string, ms: number][] = []
  const known = currentOf(control)
  if (known) latest.push([control.place, await readLatestControlWrite(known)])
  for (const found of contents) {
    const database = currentOf(found)
    if (database) latest.push([found.place, await readLatestContentWrite(database)])
  }
  const nowMs = ctx.clock()
  return latest
    .filter(([, ms]) => ms > nowMs + skew.attentionMs)
    .map(([place, ms]) => fromTheFuture(`The newest change in ${place} is dated ${toIso(ms)}`, ms - nowMs))
}

async function findFutureFiles(ctx: DoctorContext): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { place, database } of await openDatabases(ctx)) {
    if (database?.engine !== 'sqlite') continue
    const { mtimeMs } = await stat(place)
    const aheadMs = mtimeMs - ctx.clock()
    if (aheadMs > fileToleranceMs) findings.push(fromTheFuture(`${place} is dated ${toIso(mtimeMs)}`, aheadMs))
  }
  return findings
}

export const clockCheck: Check = {
  name: 'Clock',
  run: async (ctx) => [
    ...(await compareWithDatabase(ctx)),
    ...(await findFutureWrites(ctx)),
    ...(await findFutureFiles(ctx)),
  ],
}
