import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * Runs the test files given as arguments in this process, in their order. Their child processes report nothing. An empty
 * suite marks the start of each file for the reporter, except for the first one: Node would run the root hooks when such a
 * suite ends.
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
