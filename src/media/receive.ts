import { createHash, randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../errors.ts'
import { type FileFacts, inspectFile } from './files/inspect.ts'
import { removeLocation } from './files/remove-location.ts'
import { removeOld } from './remove-old.ts'

/** A file on its way in. */
export interface Upload {
  /** What it is called where it comes from; never a path of ours. */
  name: string
  content: Readable
  /** How large it is at least, where that is known before it has come. */
  leastBytes?: number
}

/** A file that has come in and was looked at, and lies in a place of its own until it is stored. */
export interface ReceivedFile extends FileFacts {
  path: string
  bytes: number
  /** Of the bytes as they were sent. */
  sha256: string
}

const inUnits = (bytes: number): string =>
  bytes < 1024 ** 2 ? `${Math.floor(bytes / 1024)} KB` : `${Math.floor((bytes / 1024 ** 2) * 10) / 10} MB`

function measure(maxBytes: number, onBytes: (bytes: number) => void) {
  const digest = createHash('sha256')
  const measured = { bytes: 0, sha256: '' }
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      measured.bytes += chunk.length
      if (measured.bytes > maxBytes) {
        done(new AppError('PayloadTooLarge', `The file is larger than ${inUnits(maxBytes)}, the most for this tier.`))
        return
      }
      try {
        onBytes(chunk.length)
      } catch (error) {
        done(error as Error)
        return
      }
      digest.update(chunk)
      done(null, chunk)
    },
    flush(done) {
      measured.sha256 = digest.digest('hex')
      done()
    },
  })
  return { stream, measured }
}

function explain(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') return error
  return new AppError('Unavailable', 'The service has no room for this file. Its operator must make some.', {
    cause: error,
    retryAfterSeconds: 60,
  })
}

/** Where files lie on their way in. */
export interface Inbox {
  /** Takes a file in, looks at it, works with it, and lets go of it again, whatever happens. */
  receive<Result>(
    upload: Upload,
    maxBytes: number,
    work: (file: ReceivedFile) => Promise<Result>,
    /** Told of what comes in; what it throws ends it. */
    onBytes?: (bytes: number) => void,
  ): Promise<Result>
  /** A folder for a piece of work, which is gone afterwards. */
  withFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result>
  /** Removes what a process that died has left behind. */
  tidy(nowMs: number): Promise<void>
}

export function createInbox(root: string, { maxPixels }: { maxPixels: number }): Inbox {
  async function withFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(root, randomBytes(9).toString('hex'))
    await mkdir(folder, { recursive: true, mode: 0o700 })
    try {
      return await work(folder)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  return {
    withFolder,

    receive: (upload, maxBytes, work, onBytes = () => {}) =>
      withFolder(async (folder) => {
        const path = join(folder, 'file')
        const { stream, measured } = measure(maxBytes, onBytes)
        await pipeline(upload.content, stream, createWriteStream(path, { mode: 0o600 }))
        const facts = await inspectFile(path, { maxPixels })
        await removeLocation(path, facts.contentType)
        return work({ path, ...measured, ...facts })
      }).catch((error) => {
        throw explain(error)
      }),

    tidy: (nowMs) => removeOld(root, nowMs),
  }
}
