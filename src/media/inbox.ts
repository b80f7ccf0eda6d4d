import { createHash, randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../core/errors.ts'
import { type FileFacts, inspectFile } from './files/inspect.ts'
import { removeMetadata } from './files/remove-metadata.ts'
import { removeStale } from './local-storage.ts'

/** A file that is being uploaded. */
export interface Upload {
  /** The name given by the sender; never used as a path. */
  name: string
  content: Readable
  /** A lower bound of the size, where that is known in advance. */
  minUploadBytes?: number
}

/** A complete upload that was inspected, in a temporary folder until it is stored. */
export interface ReceivedFile extends FileFacts {
  path: string
  bytes: number
  /** Of the bytes as sent, before metadata was removed. */
  sha256: string
}

const formatBytes = (bytes: number): string =>
  bytes < 1024 ** 2 ? `${Math.floor(bytes / 1024)} KB` : `${Math.floor((bytes / 1024 ** 2) * 10) / 10} MB`

/** A pipeline step that counts and hashes the bytes, and ends an upload that is too large. */
function createMeter(maxBytes: number, onBytes: (bytes: number) => void) {
  const digest = createHash('sha256')
  const measured = { bytes: 0, sha256: '' }
  async function* measure(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      measured.bytes += chunk.length
      if (measured.bytes > maxBytes)
        throw new AppError(
          'PayloadTooLarge',
          `The file is larger than ${formatBytes(maxBytes)}, the limit of this tier.`,
        )
      onBytes(chunk.length)
      digest.update(chunk)
      yield chunk
    }
    measured.sha256 = digest.digest('hex')
  }
  return { measure, measured }
}

function explain(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') return error
  return new AppError('Unavailable', 'The service has no disk space for this file. Its operator must free some.', {
    cause: error,
    retryAfterSeconds: 60,
  })
}

/** A folder for incoming uploads and other temporary files. */
export interface Inbox {
  /** Receives and inspects a file, passes it to `work`, and removes it in any case. */
  receive<Result>(
    upload: Upload,
    maxBytes: number,
    work: (file: ReceivedFile) => Promise<Result>,
    /** Called for each chunk; throwing ends the upload. */
    onBytes?: (bytes: number) => void,
  ): Promise<Result>
  /** A temporary folder, removed after the work. */
  withFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result>
  /** Removes what crashed processes left behind. */
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
        const { measure, measured } = createMeter(maxBytes, onBytes)
        await pipeline(upload.content, measure, createWriteStream(path, { mode: 0o600 }))
        const facts = await inspectFile(path, { maxPixels })
        await removeMetadata(path, facts.contentType)
        return work({ path, ...measured, ...facts })
      }).catch((error) => {
        throw explain(error)
      }),

    tidy: (nowMs) => removeStale(root, nowMs),
  }
}

/** Bytes of uploads in progress, by group: they count against the quota together. */
export interface IncomingBytes {
  of(groupId: string): number
  /** Counts the bytes that `work` adds for as long as it runs. */
  count<Result>(groupId: string, work: (add: (bytes: number) => void) => Promise<Result>): Promise<Result>
}

export function createIncomingBytes(): IncomingBytes {
  const bytesOfGroups = new Map<string, number>()
  const of = (groupId: string): number => bytesOfGroups.get(groupId) ?? 0

  function change(groupId: string, by: number): void {
    const bytes = of(groupId) + by
    if (bytes > 0) bytesOfGroups.set(groupId, bytes)
    else bytesOfGroups.delete(groupId)
  }

  return {
    of,
    async count(groupId, work) {
      let own = 0
      try {
        return await work((bytes) => {
          own += bytes
          change(groupId, bytes)
        })
      } finally {
        change(groupId, -own)
      }
    },
  }
}
