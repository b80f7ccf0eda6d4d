#!/usr/bin/env node
// Plain JavaScript, so that a Node that is too old to run the rest can still say so.
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `Sluice needs Node 24 or newer; this is ${process.version}. "npm ci" (with dev dependencies and install scripts) ` +
      'brings the right one for "npm start" and "npx sluice".',
  )
  process.exit(1)
}
const { enableCompileCache } = await import('node:module')
// What was compiled once is kept beside the packages, so that every further start is quicker and takes less memory.
const compileCache = new URL('../node_modules/.cache/sluice', import.meta.url).pathname
enableCompileCache(compileCache)
process.env.NODE_COMPILE_CACHE = compileCache // for threads, whose start would otherwise take twice the CPU time
const { setFlagsFromString } = await import('node:v8')
// V8 lets its heap grow up to fourfold between two full collections. With 30 percent a loaded process needs far less memory, and
// collects the garbage of start-up soon.
setFlagsFromString('--heap-growing-percent=30')
// All ticks of Node's are objects of one shape. If V8 collects garbage while there happens to be no tick, it drops the shape, and
// each later tick takes ten times as long. So one of them is kept alive.
const { executionAsyncResource } = await import('node:async_hooks')
process.nextTick(() => {
  globalThis[Symbol('a tick')] = executionAsyncResource()
})
await import('../src/main.ts')
