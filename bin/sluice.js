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
enableCompileCache(new URL('../node_modules/.cache/sluice', import.meta.url).pathname)
// Every tick of Node's is an object of one shape. Where V8 clears memory away while there happens to be none, it forgets the
// shape, and each tick takes ten times as long from then on. So one of them is kept.
const { executionAsyncResource } = await import('node:async_hooks')
process.nextTick(() => {
  globalThis[Symbol('a tick')] = executionAsyncResource()
})
await import('../src/main.ts')
