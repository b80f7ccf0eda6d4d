import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * Runs the test files that are its arguments, in this process. What they fork is no test, and reports nothing. The tests run
 * in the order of the files; an empty suite tells the reporter with which file they begin.
 */
process.execArgv.length = 0
for (const file of process.argv.splice(2)) {
  describe(file, () => {})
  await import(pathToFileURL(file).href).catch((error: unknown) => {
    it(`${file} can be loaded`, () => {
      throw error
    })
  })
}
