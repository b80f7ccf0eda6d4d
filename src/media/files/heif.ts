import type { Size } from './formats.ts'
import { boxes, damaged, innerBoxes } from './parts.ts'
import type { Range, Reader } from './reader.ts'

/** The box "meta" of an AVIF or HEIC lists the items of the file: their type, location and properties. */
export interface Meta {
  /** Where its content begins in the file. */
  start: number
  content: Buffer
}

/** Photographs with many tiles stay far below. */
const maxMetaBytes = 1024 * 1024

export async function findMeta(reader: Reader): Promise<Meta | undefined> {
  for await (const { name, start, length } of boxes(reader)) {
    if (name !== 'meta') continue
    if (length < 4 || length > maxMetaBytes) return undefined
    return { start: start + 4, content: Buffer.from((await reader.read(start, length)).subarray(4)) }
  }
  return undefined
}

function boxNamed(bytes: Buffer, name: string): Buffer {
  const box = innerBoxes(bytes).find((inner) => inner.name === name)
  if (!box) throw new RangeError(`no ${name}`)
  return box.content
}

/** Property numbers, counted from 1, of each item: ISO 23008-12, 9.3.1. */
function propertiesOf(item: number, associations: Buffer): number[] {
  const version = associations.readUInt8(0)
  const wide = (associations.readUInt8(3) & 1) === 1
  let at = 8
  for (let left = associations.readUInt32BE(4); left > 0; left -= 1) {
    const id = version < 1 ? associations.readUInt16BE(at) : associations.readUInt32BE(at)
    at += version < 1 ? 2 : 4
    const count = associations.readUInt8(at)
    at += 1
    if (id === item) {
      return Array.from({ length: count }, (_, index) =>
        wide ? associations.readUInt16BE(at + index * 2) & 0x7fff : associations.readUInt8(at + index) & 0x7f,
      )
    }
    at += count * (wide ? 2 : 1)
  }
  return []
}

/** The size of the main picture as displayed: cropped and rotated as its properties say. */
export function heifSize({ content }: Meta): Size {
  const primary = boxNamed(content, 'pitm')
  const item = primary.readUInt8(0) === 0 ? primary.readUInt16BE(4) : primary.readUInt32BE(4)
  const [properties, associations] = [boxNamed(content, 'iprp'), boxNamed(boxNamed(content, 'iprp'), 'ipma')]
  const all = innerBoxes(boxNamed(properties, 'ipco'))
  let [width, height] = [0, 0]
  for (const number of propertiesOf(item, associations)) {
    const property = all[number - 1]
    if (property?.name === 'ispe') {
      width = property.content.readUInt32BE(4)
      height = property.content.readUInt32BE(8)
    } else if (property?.name === 'clap') {
      const part = (at: number) => Math.round(property.content.readUInt32BE(at) / property.content.readUInt32BE(at + 4))
      width = Math.min(width, part(0))
      height = Math.min(height, part(8))
    } else if (property?.name === 'irot' && property.content.readUInt8(0) % 2 === 1) {
      ;[width, height] = [height, width]
    }
  }
  return { width, height }
}

/** One for each item, and some for further pictures in the file. */
const maxExtents = 32

interface MetadataItem {
  kind: 'exif' | 'xmp'
  ranges: Range[]
}

/** The kinds of the items that hold metadata, by number: ISO 14496-12, 8.11.6. */
function metadataItems(information: Buffer): Map<number, MetadataItem['kind']> {
  const kinds = new Map<number, MetadataItem['kind']>()
  const countBytes = information.readUInt8(0) === 0 ? 2 : 4
  for (const { name, content } of innerBoxes(information.subarray(4 + countBytes))) {
    const version = content.readUInt8(0)
    if (name !== 'infe' || version < 2) continue
    const idBytes = version === 2 ? 2 : 4
    const type = content.toString('latin1', 6 + idBytes, 10 + idBytes)
    if (type === 'Exif') kinds.set(content.readUIntBE(4, idBytes), 'exif')
    // A name, then the type of the content, each with a zero behind it.
    if (type === 'mime' && content.includes('\0application/rdf+xml\0', 9 + idBytes, 'latin1')) {
      kinds.set(content.readUIntBE(4, idBytes), 'xmp')
    }
  }
  return kinds
}

/** Where each of these items is: ISO 14496-12, 8.11.3. Numbers have as many bytes as the box says, none of them for 0. */
function* locate(kinds: Map<number, MetadataItem['kind']>, box: Buffer, idatStart: number): Generator<MetadataItem> {
  const version = box.readUInt8(0)
  let at = 4
  const read = (bytes: number): number => {
    at += bytes
    if (bytes === 8) return Number(box.readBigUInt64BE(at - 8))
    return bytes === 0 ? 0 : box.readUIntBE(at - bytes, bytes)
  }
  const sizes = read(2)
  const [offsetBytes, lengthBytes, baseBytes] = [sizes >> 12, (sizes >> 8) & 15, (sizes >> 4) & 15]
  const indexBytes = version > 0 ? sizes & 15 : 0
  // Extents of no bytes could be endless.
  if (lengthBytes === 0) throw new RangeError('no lengths')
  for (let items = read(version < 2 ? 2 : 4); items > 0; items -= 1) {
    const id = read(version < 2 ? 2 : 4)
    const origin = version > 0 && (read(2) & 15) === 1 ? idatStart : 0
    read(2) // which file: always this one
    const base = origin + read(baseBytes)
    const kind = kinds.get(id)
    const count = read(2)
    if (!kind) {
      at += count * (indexBytes + offsetBytes + lengthBytes)
      continue
    }
    const ranges = Array.from({ length: count }, () => {
      read(indexBytes)
      const start = base + read(offsetBytes)
      return { start, length: read(lengthBytes) }
    })
    yield { kind, ranges }
  }
}

/** Every named byte is overwritten, so none may be named twice. */
function areDisjoint(extents: Range[], size: number): boolean {
  let end = 0
  return extents
    .toSorted((left, right) => left.start - right.start)
    .every(({ start, length }) => {
      const fits = start >= end && start + length <= size
      end = start + length
      return fits
    })
}

/** The Exif and XMP of an AVIF or HEIC; none if the list is unreadable, since no other program finds them then. */
export function heifMetadata({ start, content }: Meta, size: number): MetadataItem[] {
  try {
    const kinds = metadataItems(boxNamed(content, 'iinf'))
    const data = innerBoxes(content).find(({ name }) => name === 'idat')?.content
    const idatStart = data ? start + data.byteOffset - content.byteOffset : 0
    const items: MetadataItem[] = []
    const extents: Range[] = []
    for (const item of locate(kinds, boxNamed(content, 'iloc'), idatStart)) {
      items.push(item)
      extents.push(...item.ranges)
      if (extents.length > maxExtents) throw damaged(`its metadata lies in more than ${maxExtents} ranges`)
    }
    if (!areDisjoint(extents, size)) throw damaged('pieces of its metadata overlap or lie outside of the file')
    return items
  } catch (error) {
    if (error instanceof RangeError) return []
    throw error
  }
}
