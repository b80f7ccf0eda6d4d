import { crc32 } from 'node:zlib'

/** Spaces, as the text in a GIF ends at its first zero. */
const filler = Buffer.alloc(256 * 1024, ' ')

/** What stands in place of metadata that is erased, in pieces. */
export function* spaces(length: number): Generator<Buffer> {
  for (let left = length; left > 0; left -= filler.length) yield filler.subarray(0, left)
}

/** Nobody's name, and by its letters one that every reader may ignore and every editor may copy. */
const padding = Buffer.from('paDd')

/** A chunk of a PNG that says nothing, from its name to its checksum, in pieces. */
export function* emptyPngChunk(length: number): Generator<Buffer> {
  yield padding
  let checksum = crc32(padding)
  for (const piece of spaces(length - 8)) {
    checksum = crc32(piece, checksum)
    yield piece
  }
  const end = Buffer.alloc(4)
  end.writeUInt32BE(checksum)
  yield end
}
