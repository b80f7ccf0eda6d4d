import type { AddressInfo } from 'node:net'
import { readConfig } from '../../src/config/config.ts'
import { createService } from '../../src/service.ts'
import type { Order, Reply } from './instances.ts'

/** One of the processes that serve a database together. The parent sets its clock. */
let nowMs = Number(process.env.CLOCK_MS)
const service = await createService(readConfig(process.env), {
  clock: () => nowMs,
  readsInWorkersOnly: process.env.LEAVES_READS_TO_THREADS === 'yes',
})

/** Holds one computation that has already read its content until the parent releases it. */
let gate: { arrive(): void; open: Promise<void> } | undefined
let [arrived, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
const { currentFiles } = service.media
const { prepare } = currentFiles
currentFiles.prepare = async (...wanted) => {
  const prepared = await prepare(...wanted)
  const closed = gate
  gate = undefined // later computations are not held
  closed?.arrive()
  await closed?.open
  return prepared
}

const obey: Record<Order['name'], (order: Order) => Promise<unknown> | unknown> = {
  clock: ({ ms }) => {
    nowMs = ms ?? nowMs
  },
  jobs: () => service.worker.runDue(),
  counts: () => ({ ...service.answers.counts, madeInThreads: service.readWorkers.counts.made }),
  hold() {
    ;[arrived, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    gate = { arrive: arrived.resolve, open: open.promise }
  },
  held: () => arrived.promise,
  release: () => open.resolve(),
}

process.on('message', async (order: Order) => {
  const value = await obey[order.name](order)
  process.send?.({ id: order.id, value } satisfies Reply)
})
process.on('disconnect', async () => {
  await service.close()
  process.exit() // the parent has exited
})

await service.listen()
const { port } = service.app.server.address() as AddressInfo
process.send?.({ id: 0, value: port } satisfies Reply)
