import packageFile from '../../package.json' with { type: 'json' }
import { families } from './families.ts'
import { type Reading, single } from './text-format.ts'

export function readBuild(engine: string): Reading {
  return { family: families.buildInfo, samples: [{ labels: [packageFile.version, engine, process.version], value: 1 }] }
}

export function readProcess(): Reading[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  return [
    single(families.processCpu, (user + system) / 1e6),
    single(families.processStart, performance.timeOrigin / 1000),
    single(families.processMemory, rss),
    single(families.heapTotal, heapTotal),
    single(families.heapUsed, heapUsed),
    single(families.externalMemory, external),
  ]
}
