import { type FileHandle, open } from 'node:fs/promises'
import { setImmediate as letOthersWork } from 'node:timers/promises'
import { spaces } from './emptied.ts'
import { findMetadata, type Metadata } from './metadata.ts'
import { createReader, type Range, type Reader } from './reader.ts'

/** No more of a file is taken into memory and looked through; what goes beyond is erased unseen. */
const maxMetadataBytes = 1024 * 1024

async function readRanges(reader: Reader, ranges: Range[]): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (const { start, length } of ranges) pieces.push(Buffer.from(await reader.read(start, length)))
  return Buffer.concat(pieces)
}

async function writeRanges(file: FileHandle, ranges: Range[], bytes: Buffer): Promise<void> {
  let at = 0
  for (const { start, length } of ranges) {
    await file.write(bytes, at, length, start)
    at += length
  }
}

async function eraseRanges(file: FileHandle, { ranges, emptied = spaces }: Metadata): Promise<void> {
  for (const { start, length } of ranges) {
    let at = start
    for (const piece of emptied(length)) {
      await file.write(piece, 0, piece.length, at)
      at += piece.length
    }
  }
}

/**
 * Takes the place where a picture was taken out of it, and says whether there was one. Only bytes of metadata are
 * overwritten: the file keeps its length, the pixels stay as they are, and so do orientation, copyright and colors.
 */
export async function removeLocation(path: string, contentType: string): Promise<boolean> {
  await using file = await open(path, 'r+')
  const reader = await createReader(file)
  let removed = false
  let bytesLeft = maxMetadataBytes
  for await (const metadata of findMetadata(reader, contentType)) {
    await letOthersWork()
    const { ranges, blank } = metadata
    const total = ranges.reduce((sum, { length }) => sum + length, 0)
    if (!blank || total > bytesLeft) {
      await eraseRanges(file, metadata)
      removed = true
      continue
    }
    bytesLeft -= total
    const bytes = await readRanges(reader, ranges)
    if (!blank(bytes)) continue
    await writeRanges(file, ranges, bytes)
    removed = true
  }
  return removed
}
