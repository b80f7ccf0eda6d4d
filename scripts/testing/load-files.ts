import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * Runs the test files that are its arguments, in this process. What they fork is no test, and reports nothing. The tests run
 * in the order of the files. An empty suite tells the reporter where the tests of the next file begin; there is none before the
 * first file, because Node would run its hooks of the root as soon as that suite has ended.
 */
process.execArgv.length = 0
for (const [index, file] of process.argv.splice(2).entries()) {
  if (index > 0) describe(file, () => {})
  await import(pathToFileURL(file).href).catch((error: unknown) => {
    it(`${file} can be loaded`, () => {
      throw error
    })
  })
}
