import type { FileHandle } from 'node:fs/promises'
import { yieldForHeavyWork } from '../../concurrency/time-slicing.ts'

const windowBytes = 64 * 1024
/** Tiny parts in a crafted file are all read from the buffer: yield to the event loop after this many reads. */
const readsPerSlice = 2000

export interface Range {
  start: number
  length: number
}

/** Random access to an open file; neighbouring ranges come from one read. */
export interface Reader {
  size: number
  /** Shorter at the end of the file. The buffer is valid until the next call. */
  read(position: number, length: number): Promise<Buffer>
}

export async function createReader(file: FileHandle): Promise<Reader> {
  const { size } = await file.stat()
  let start = 0
  let buffered: Buffer = Buffer.alloc(0)
  let reads = 0
  return {
    size,
    async read(position, length) {
      reads += 1
      if (reads % readsPerSlice === 0) await yieldForHeavyWork()
      const end = Math.min(position + length, size)
      if (position < start || end > start + buffered.length) {
        const wanted = Math.max(0, Math.min(Math.max(length, windowBytes), size - position))
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, position)
        start = position
        buffered = buffer.subarray(0, bytesRead)
      }
      return buffered.subarray(position - start, Math.max(position, end) - start)
    },
  }
}
