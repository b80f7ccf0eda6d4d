import type { FileHandle } from 'node:fs/promises'
import { takePiece } from '../../heavy-work.ts'

const windowBytes = 64 * 1024
/** A file may consist of tiny pieces, all of them in memory: after so many reads everything else goes on. */
const readsPerPiece = 2000

export interface Range {
  start: number
  length: number
}

/** Reads pieces of an open file anywhere; neighbours come from one read. */
export interface Reader {
  size: number
  /** Shorter at the end of the file. The bytes are only good until the next call. */
  read(position: number, length: number): Promise<Buffer>
}

export async function createReader(file: FileHandle): Promise<Reader> {
  const { size } = await file.stat()
  let start = 0
  let held: Buffer = Buffer.alloc(0)
  let reads = 0
  return {
    size,
    async read(position, length) {
      reads += 1
      if (reads % readsPerPiece === 0) await takePiece()
      const end = Math.min(position + length, size)
      if (position < start || end > start + held.length) {
        const wanted = Math.max(0, Math.min(Math.max(length, windowBytes), size - position))
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, position)
        start = position
        held = buffer.subarray(0, bytesRead)
      }
      return held.subarray(position - start, Math.max(position, end) - start)
    },
  }
}
