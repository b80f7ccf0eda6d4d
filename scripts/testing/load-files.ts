import asyncHooks, { AsyncLocalStorage, type AsyncResource } from 'node:async_hooks'
import { pathToFileURL } from 'node:url'

/**
 * The test runner tracks every promise to know the current test, which takes a tenth of the CPU time. Here an
 * AsyncLocalStorage tells it instead.
 */
async function loadRunner() {
  const { createHook, executionAsyncId } = asyncHooks
  const currentTest = new AsyncLocalStorage<number>()
  function keepCurrent(test: AsyncResource, id: number): void {
    const run = test.runInAsyncScope.bind(test)
    test.runInAsyncScope = (work, self, ...inputs) =>
      run(() => currentTest.run(id, () => Reflect.apply(work, self, inputs)))
  }
  asyncHooks.executionAsyncId = () => currentTest.getStore() ?? executionAsyncId()
  asyncHooks.createHook = ({ init, ...others }) =>
    createHook({
      ...others,
      trackPromises: false,
      init(id, type, trigger, resource) {
        if (type === 'Test') keepCurrent(resource as AsyncResource, id)
        init?.(id, type, trigger, resource)
      },
    })
  const runner = await import('node:test')
  Object.assign(asyncHooks, { createHook, executionAsyncId })
  return runner
}

const { describe, it } = await loadRunner()

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
