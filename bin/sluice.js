#!/usr/bin/env node
// Plain JavaScript, so that a Node that is too old to run the rest can still say so.
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `Sluice needs Node 24 or newer; this is ${process.version}. "npm ci" (with dev dependencies and install scripts) ` +
      'brings the right one for "npm start" and "npx sluice".',
  )
  process.exit(1)
}
await import('../src/main.ts')
