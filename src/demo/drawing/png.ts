import { crc32, deflateSync } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const channels = 3

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

function header(width: number, height: number): Buffer {
  const data = Buffer.alloc(13)
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  data.set([8, 2], 8) // 8 bits per channel, RGB; the rest 0: deflate, the five standard filters, not interlaced
  return data
}

/** Of left, above and above-left, the one nearest to the plane through the three (PNG specification, 9.4). */
function paeth(left: number, above: number, corner: number): number {
  const toLeft = Math.abs(above - corner)
  const toAbove = Math.abs(left - corner)
  const toCorner = Math.abs(left + above - 2 * corner)
  if (toLeft <= toAbove && toLeft <= toCorner) return left
  return toAbove <= toCorner ? above : corner
}

/** The filters that pay off on drawn pictures, by the byte that names each in front of a row. */
const filters = { sub: 1, up: 2, paeth: 4 } as const
type Filter = (typeof filters)[keyof typeof filters]

const size = (difference: number): number => {
  const byte = difference & 0xff
  return byte < 128 ? byte : 256 - byte
}

/** The filter whose differences are the smallest, judged by one channel: the others follow it closely. */
function bestFilter(rgb: Uint8Array, start: number, stride: number): Filter {
  if (start === 0) return filters.sub
  let [sub, up, plane] = [0, 0, 0]
  for (let at = start + channels; at < start + stride; at += channels) {
    const here = rgb[at] ?? 0
    const left = rgb[at - channels] ?? 0
    const above = rgb[at - stride] ?? 0
    const corner = rgb[at - stride - channels] ?? 0
    if (here === left && here === above && here === corner) continue
    sub += size(here - left)
    up += size(here - above)
    plane += size(here - paeth(left, above, corner))
  }
  if (up <= sub && up <= plane) return filters.up
  return sub <= plane ? filters.sub : filters.paeth
}

/** Writes the name of the filter and how far each byte of the row is from what the filter expects. */
function writeRow(rgb: Uint8Array, start: number, stride: number, filter: Filter, out: Uint8Array, to: number): void {
  out[to] = filter
  const shift = to + 1 - start
  const end = start + stride
  if (filter === filters.up) {
    for (let at = start; at < end; at += 1) out[at + shift] = (rgb[at] ?? 0) - (rgb[at - stride] ?? 0)
    return
  }
  const isSub = filter === filters.sub
  for (let at = start; at < start + channels; at += 1) {
    out[at + shift] = (rgb[at] ?? 0) - (isSub ? 0 : (rgb[at - stride] ?? 0)) // nothing lies to the left
  }
  for (let at = start + channels; at < end; at += 1) {
    const left = rgb[at - channels] ?? 0
    const guess = isSub ? left : paeth(left, rgb[at - stride] ?? 0, rgb[at - stride - channels] ?? 0)
    out[at + shift] = (rgb[at] ?? 0) - guess
  }
}

/** An RGB picture, 3 bytes a pixel, row by row from the top left, as a PNG file. */
export function encodePng(width: number, height: number, rgb: Uint8Array): Buffer {
  const stride = width * channels
  if (rgb.length !== stride * height) throw new RangeError(`${width}×${height} pixels take ${stride * height} bytes`)
  const filtered = new Uint8Array((stride + 1) * height)
  for (let y = 0; y < height; y += 1) {
    const start = y * stride
    const filter = bestFilter(rgb, start, stride)
    writeRow(rgb, start, stride, filter, filtered, start + y)
  }
  return Buffer.concat([
    signature,
    chunk('IHDR', header(width, height)),
    chunk('IDAT', deflateSync(filtered, { level: 4 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
