import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import packageFile from '../../package.json' with { type: 'json' }
import { toIso } from '../content/moments.ts'
import { hourMs } from '../core/clock.ts'
import {
  readDatabaseTime,
  readLatestContentWrite,
  readLatestControlWrite,
  usableDatabase,
} from '../store/checks/databases.ts'
import { type Check, type DoctorContext, type Finding, wrong } from './check.ts'
import { openDatabases } from './databases.ts'
import { isFolder } from './files.ts'
import { inBytes, inTime, shellWord } from './format.ts'

function partsOf(version: string): number[] {
  const [, ...parts] = /^(?:>=)?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(version) ?? []
  if (parts.length === 0) throw new Error(`"${version}" is not a version`)
  return parts.map((part) => Number(part ?? 0))
}

function isOlder(version: string, minimum: string): boolean {
  const required = partsOf(minimum)
  const differences = partsOf(version).map((part, index) => part - (required[index] ?? 0))
  return (differences.find((difference) => difference !== 0) ?? 0) < 0
}

export const nodeVersionCheck: Check = {
  name: 'Node version',
  async run({ machine: { nodeVersion } }) {
    const { node: required } = packageFile.engines
    if (!isOlder(nodeVersion, required)) return []
    return wrong({
      what: `This is Node ${nodeVersion}, and Sluice needs ${required}.`,
      advice: 'Install a newer Node. "npm ci" installs the right one for "npm start" and "npx sluice":',
      commands: ['npm ci'],
    })
  },
}

const minFree = { wrongBytes: 200e6, attentionBytes: 1e9, attentionShare: 0.1 }

/** The folder itself, or its nearest existing parent. */
async function nearestFolder(path: string): Promise<string> {
  return (await isFolder(path)) || dirname(path) === path ? path : nearestFolder(dirname(path))
}

export const diskSpaceCheck: Check = {
  name: 'Disk space',
  async run({ config: { dataDir }, machine }) {
    const folder = await nearestFolder(dataDir)
    const { freeBytes, totalBytes } = await machine.diskSpace(folder)
    if (freeBytes >= minFree.attentionBytes && freeBytes >= minFree.attentionShare * totalBytes) return []
    const percent = totalBytes > 0 ? Math.floor((freeBytes / totalBytes) * 100) : 0
    return [
      {
        level: freeBytes < minFree.wrongBytes ? 'wrong' : 'attention',
        what: `The disk of ${folder} has ${inBytes(freeBytes)} left, ${percent} % of ${inBytes(totalBytes)}.`,
        advice:
          'On a full disk nothing can be written. Free some space, or move DATA_DIR to a larger disk. To see what uses it:',
        commands: [`du -xh -d 2 ${shellWord(folder)} | sort -h | tail`],
      },
    ]
  },
}

const secondMs = 1000
const skew = { attentionMs: 2 * secondMs, wrongMs: 30 * secondMs }
/** Network drives have their own clocks, which may be slightly off. */
const fileToleranceMs = hourMs

const setClock = 'Let the clocks of all machines be set by the network:'
const setClockCommands = ['timedatectl set-ntp true', 'timedatectl status']

/** The database read its clock between the query and its result, so only a time outside of that interval differs. */
async function compareWithDatabase(ctx: DoctorContext): Promise<Finding[]> {
  const [found] = await openDatabases(ctx)
  if (found?.database?.engine !== 'postgres') return []
  const queriedMs = ctx.clock()
  const theirMs = await readDatabaseTime(found.database)
  const aheadMs = Math.max(theirMs - ctx.clock(), queriedMs - theirMs)
  if (aheadMs <= skew.attentionMs) return []
  return [
    {
      level: aheadMs > skew.wrongMs ? 'wrong' : 'attention',
      what: `The clock of the database is ${inTime(aheadMs)} ${theirMs > queriedMs ? 'ahead of' : 'behind'} this machine's.`,
      advice: `One of them is wrong: content is published and tokens expire at the wrong time. ${setClock}`,
      commands: setClockCommands,
    },
  ]
}

const fromTheFuture = (what: string, aheadMs: number): Finding => ({
  level: 'attention',
  what: `${what}, ${inTime(aheadMs)} from now.`,
  advice: `The clock of this machine is behind, or the writer's was ahead. ${setClock}`,
  commands: setClockCommands,
})

async function findFutureWrites(ctx: DoctorContext): Promise<Finding[]> {
  const { control, contents } = await ctx.databases()
  const latest: [location: string, ms: number][] = []
  const usable = usableDatabase(control)
  if (usable) latest.push([control.location, await readLatestControlWrite(usable)])
  for (const found of contents) {
    const database = usableDatabase(found)
    if (database) latest.push([found.location, await readLatestContentWrite(database)])
  }
  const nowMs = ctx.clock()
  return latest
    .filter(([, ms]) => ms > nowMs + skew.attentionMs)
    .map(([location, ms]) => fromTheFuture(`The newest change in ${location} is dated ${toIso(ms)}`, ms - nowMs))
}

async function findFutureFiles(ctx: DoctorContext): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { location, database } of await openDatabases(ctx)) {
    if (database?.engine !== 'sqlite') continue
    const { mtimeMs } = await stat(location)
    const aheadMs = mtimeMs - ctx.clock()
    if (aheadMs > fileToleranceMs) findings.push(fromTheFuture(`${location} is dated ${toIso(mtimeMs)}`, aheadMs))
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
