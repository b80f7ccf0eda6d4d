import asyncHooks from 'node:async_hooks'
import { pathToFileURL } from 'node:url'

/**
 * The test runner tracks every promise, to find the test of a rejection that nobody handles. That takes a tenth of the CPU
 * time. Without it, such a rejection still fails the file, and is printed with its stack.
 */
const { createHook } = asyncHooks
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false })
const { describe, it } = await import('node:test')
asyncHooks.createHook = createHook
process.on('uncaughtExceptionMonitor', (error) => console.error('Uncaught', error))
process.on('unhandledRejection', (reason) => {
  console.error('Unhandled rejection', reason)
  process.exitCode = 1
})

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
