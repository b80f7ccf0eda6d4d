import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A test file that imports one of these, directly or not, has a process of its own: databases, servers, browsers, pictures. */
const heavyModules = [
  ...['harness', 'postgres-server', 'process', 's3-server', 'browser'].map((name) => `test/helpers/${name}.ts`),
  'src/media/files/derive.ts',
]
const imported = /^(?:import|export)\s(?!type\b)[^'"]*['"](\.[^'"]+\.ts)['"]|\bimport\(['"](\.[^'"]+\.ts)['"]\)/gm

/** The files that a file loads, as far as its imports are written out. */
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
    known.set(file, false) // for a cycle
    const found = modules.includes(file) || importsOf(file).some(imports)
    known.set(file, found)
    return found
  }
}

/** Whether a test file needs a database, a server or a browser, judged by what it imports. */
export const createDatabaseCheck = (): ((file: string) => boolean) => createImportCheck(heavyModules)

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
