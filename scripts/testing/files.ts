import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const helpers = (...names: string[]): string[] => names.map((name) => `test/helpers/${name}.ts`)
/** Modules that need a database, a server, a browser or image processing. */
const heavyModules = [
  ...helpers('harness', 'postgres-server', 'process', 's3-server', 'browser'),
  'src/media/files/derive.ts',
]
/** Modules of test files that start processes, or spend their time outside of the service. */
const modulesAlone = helpers('postgres-server', 'process', 's3-server', 'browser')
/** Files that measure or change the state of their process, or are too heavy to gain from sharing it. */
const filesAlone = [
  'test/bench.test.ts', // benchmarks
  'test/cache/exactness.test.ts',
  'test/delivery/handler.test.ts', // counts the timers of its process
  'test/delivery/worker-pool.test.ts', // worker threads
  'test/fairness/fairness.test.ts',
  'test/jobs/processes.test.ts',
  'test/manage/roles.test.ts',
  'test/manage/schema-change.test.ts',
  'test/manage/verbs-property.test.ts',
  'test/media/cold-signing.test.ts', // watches the event loop
  'test/metrics/stalls.test.ts', // watches the event loop
  'test/store/engine/postgres-values.test.ts', // counts the timers of its process
  'test/store/engine/sqlite-worker.test.ts', // worker threads
  'test/tenant/list-equivalence.test.ts',
]
/** A hook at the start of a line is outside of a suite, and applies to every file of the process. */
const rootHook = /^(?:before|after)(?:Each)?\(/m
const imported = /^(?:import|export)\s(?!type\b)[^'"]*['"](\.[^'"]+\.ts)['"]|\bimport\(['"](\.[^'"]+\.ts)['"]\)/gm

/** The files that a file imports statically. */
function importsOf(file: string): string[] {
  const matches = readFileSync(file, 'utf8').matchAll(imported)
  return [...matches].map(([, fixed, dynamic]) => join(dirname(file), fixed ?? dynamic ?? ''))
}

/** Whether a file imports one of the modules, directly or not. */
function createImportCheck(modules: readonly string[]): (file: string) => boolean {
  const known = new Map<string, boolean>()
  return function imports(file: string): boolean {
    const answer = known.get(file)
    if (answer !== undefined) return answer
    known.set(file, false) // ends cycles
    const found = modules.includes(file) || importsOf(file).some(imports)
    known.set(file, found)
    return found
  }
}

/** Whether a test file needs a database, a server or a browser, judged by what it imports. */
export const createDatabaseCheck = (): ((file: string) => boolean) => createImportCheck(heavyModules)

/** Whether a test file that needs a database cannot share its process with others. */
export function createAloneCheck(): (file: string) => boolean {
  const importsAlone = createImportCheck(modulesAlone)
  return (file) =>
    file.startsWith('test/e2e/') ||
    filesAlone.includes(file) ||
    importsAlone(file) ||
    rootHook.test(readFileSync(file, 'utf8'))
}

/** Whether a test file works on a copy of the demo. */
export const createDemoCheck = (): ((file: string) => boolean) => createImportCheck(['test/helpers/demo.ts'])

export function findTestFiles(patterns: string[]): string[] {
  const found = patterns.flatMap((pattern) => {
    const files = globSync(pattern)
    if (files.length === 0) throw new Error(`No test file matches "${pattern}".`)
    return files
  })
  return [...new Set(found)].sort()
}
