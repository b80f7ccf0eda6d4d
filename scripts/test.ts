import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/helpers/postgres-server.ts'
import { createTemplates } from '../test/helpers/templates.ts'
import { createAloneCheck, createDatabaseCheck, createDemoCheck, findTestFiles } from './testing/files.ts'
import { activeRuns, type FileResult, type RunOptions, runFiles } from './testing/run-files.ts'
import { readSlowest, writeSlowest } from './testing/slowest.ts'

/** Runs test files with their own PostgreSQL; see docs/testing.md. */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    jobs: { type: 'string' },
  },
})

const minuteMs = 60_000
const testTimeoutMs = Number(process.env.TEST_TIMEOUT_MS ?? 10 * minuteMs)
const fileTimeoutMs = Number(process.env.TEST_FILE_TIMEOUT_MS ?? 20 * minuteMs)
const runTimeoutMs = Number(process.env.TEST_RUN_TIMEOUT_MS ?? 180 * minuteMs)
/** More than cores, because tests often wait for processes and databases. */
const filesAtOnce = Number(options.jobs ?? availableParallelism() + 2)
const memoryFolder = '/dev/shm'
const neededMemoryBytes = 4 * 1024 ** 3

/** In memory if there is room, since test data is temporary. */
function scratchParent(): string {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder)
    return bavail * bsize > neededMemoryBytes ? memoryFolder : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** Large enough to share the cost of loading the service, small enough that no batch ends long after the rest. */
const filesInBatch = 16
/** Up to this number, each file runs in its own process and shows its output. */
const fewFiles = 10

interface PlannedRun {
  files: string[]
  /** The label of the run in the output. */
  name: string
}

/** Distributes the files round robin, so that the batches are about equally heavy. */
function deal(files: string[], batches: number, name: (count: number) => string): PlannedRun[] {
  return Array.from({ length: batches }, (_, batch) => files.filter((_, at) => at % batches === batch))
    .filter(({ length }) => length > 0)
    .map((part) => ({ files: part, name: name(part.length) }))
}

/** The processes to run. The longest come first, so that no core is idle at the end. */
function planRuns(files: string[]): PlannedRun[] {
  const needsDatabase = createDatabaseCheck()
  const runsAlone = createAloneCheck()
  const light = files.filter((file) => !needsDatabase(file))
  const lightRuns = deal(light, availableParallelism(), (count) => `${count} files that need no database`)
  if (options.quick) return lightRuns
  const slowest = readSlowest()
  const rank = (file: string): number => (slowest.includes(file) ? slowest.indexOf(file) : Infinity)
  const heavy = files.filter(needsDatabase).sort((one, other) => Math.sign(rank(one) - rank(other)) || 0)
  const isAlone = (file: string): boolean => files.length <= fewFiles || runsAlone(file)
  const sharing = heavy.filter((file) => !isAlone(file))
  return [
    ...lightRuns,
    ...deal(sharing, Math.ceil(sharing.length / filesInBatch), (count) => `${count} files that share a process`),
    ...heavy.filter(isAlone).map((file) => ({ files: [file], name: file })),
  ]
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

function report(result: FileResult, what: string, position: string): void {
  const { failures, passed, skipped, durationMs, cpuMs, output } = result
  const isGood = failures.length === 0
  if (!isGood || options.verbose || (positionals.length > 0 && result.files.length === 1))
    console.log(`\n${output.trimEnd()}\n`)
  console.log(
    `${isGood ? '✔' : '✖'} ${position}  ${what}  ${passed + skipped + failures.length} tests, ${seconds(durationMs)}, CPU ${seconds(cpuMs)}`,
  )
}

/** Creates the demo while files that do not need it run. */
async function makeDemo(postgresUrl: string): Promise<void> {
  const { createDemoTemplates } = await import('../test/helpers/demo.ts')
  try {
    await createDemoTemplates(demoFolder, postgresUrl)
  } catch (error) {
    stopAtOnce(`The demo cannot be created: ${error instanceof Error ? error.stack : error}`, 1)
  }
}

async function runAll(runs: PlannedRun[], how: RunOptions, demo: Promise<void> | undefined): Promise<FileResult[]> {
  const results: FileResult[] = []
  const waiting = [...runs]
  let isDemoMade = false
  demo?.then(() => {
    isDemoMade = true
  })
  function takeNext(): PlannedRun | undefined {
    const ready = waiting.findIndex(({ files }) => isDemoMade || !files.some(needsDemo))
    return waiting.splice(Math.max(ready, 0), 1)[0]
  }
  async function work(): Promise<void> {
    for (let run = takeNext(); run; run = takeNext()) {
      if (run.files.some(needsDemo)) await demo
      const result = await runFiles(run.files, how)
      results.push(result)
      report(result, run.name, `${results.length}/${runs.length}`)
    }
  }
  await Promise.all(Array.from({ length: filesAtOnce }, work))
  return results
}

function summarise(results: FileResult[], startedMs: number): boolean {
  const failures = results.flatMap((result) => result.failures)
  const sum = (count: (result: FileResult) => number): number => results.reduce((total, each) => total + count(each), 0)
  const passed = sum((each) => each.passed)
  const skipped = sum((each) => each.skipped)
  if (failures.length > 0)
    console.log(`\n✖ failing tests:\n${failures.map(({ file, name }) => `  ${file}: ${name}`).join('\n')}`)
  const rows = {
    files: sum((each) => each.files.length),
    tests: passed + failures.length + skipped,
    pass: passed,
    fail: failures.length,
    skipped,
    duration_ms: Math.round(performance.now() - startedMs),
  }
  console.log()
  for (const [name, count] of Object.entries(rows)) console.log(`ℹ ${name} ${count}`)
  if (passed === 0) console.log('No test passed.')
  return failures.length === 0 && passed > 0
}

const startedMs = performance.now()
const runs = planRuns(findTestFiles(positionals.length > 0 ? positionals : ['test/**/*.test.ts']))
const folder = mkdtempSync(join(scratchParent(), 'sluice-tests-'))
await chmod(folder, 0o755) // for root, PostgreSQL runs as another user
const demoFolder = join(folder, 'demo')
const needsDemo = createDemoCheck()
const postgres = options.quick ? undefined : await startPostgres({ keptIn: join(folder, 'postgres') })
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

function stopAtOnce(why: string, code: number): void {
  console.error(`\n${why}`)
  for (const { files, kill } of activeRuns) {
    console.error(`  still running: ${files.length === 1 ? files[0] : `${files.length} files in one process`}`)
    kill()
  }
  process.exit(code)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => stopAtOnce(`Stopping by ${signal}.`, 130))
setTimeout(() => stopAtOnce(`The run did not end in ${runTimeoutMs / minuteMs} minutes.`, 1), runTimeoutMs).unref()

let isGood = false
try {
  const needed = postgres && runs.some(({ files }) => files.some(needsDemo))
  const demo = needed ? makeDemo(postgres.url) : undefined
  const env = {
    TEST_DEMO_TEMPLATES: demoFolder,
    NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/compile'),
    ...(postgres ? await createTemplates(join(folder, 'templates'), postgres.url) : {}),
  }
  const results = await runAll(runs, { folder, env, testTimeoutMs, fileTimeoutMs }, demo)
  isGood = summarise(results, startedMs)
  if (options.record) writeSlowest(results)
} finally {
  await postgres?.stop()
}
process.exit(isGood ? 0 : 1)
