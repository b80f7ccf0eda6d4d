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

type Predictor = (left: number, above: number, corner: number) => number
/** Filter type (the byte in front of a row) → what it expects a byte to be. Average never paid off on flat pictures. */
const predictors: readonly (readonly [number, Predictor])[] = [
  [1, (left) => left],
  [2, (_left, above) => above],
  [4, paeth],
]

/** Writes the row's differences from what the filter expects; returns how large they are, or gives up above `limit`. */
function filterRow(
  [type, predict]: readonly [number, Predictor],
  row: Uint8Array,
  previous: Uint8Array,
  out: Uint8Array,
  limit: number,
): number {
  let cost = 0
  out[0] = type
  for (let at = 0; at < row.length && cost < limit; at += 1) {
    const inside = at >= channels
    const left = inside ? (row[at - channels] ?? 0) : 0
    const corner = inside ? (previous[at - channels] ?? 0) : 0
    const difference = ((row[at] ?? 0) - predict(left, previous[at] ?? 0, corner)) & 0xff
    out[at + 1] = difference
    cost += difference < 128 ? difference : 256 - difference
  }
  return cost
}

/** An RGB picture, 3 bytes a pixel, row by row from the top left, as a PNG file. */
export function encodePng(width: number, height: number, rgb: Uint8Array): Buffer {
  const stride = width * channels
  if (rgb.length !== stride * height) throw new RangeError(`${width}×${height} pixels take ${stride * height} bytes`)
  const filtered = new Uint8Array((stride + 1) * height)
  const attempt = new Uint8Array(stride + 1)
  let previous: Uint8Array = new Uint8Array(stride)
  for (let y = 0; y < height; y += 1) {
    const row = rgb.subarray(y * stride, (y + 1) * stride)
    let best = Number.POSITIVE_INFINITY
    for (const predictor of predictors) {
      const cost = filterRow(predictor, row, previous, attempt, best)
      if (cost >= best) continue
      best = cost
      filtered.set(attempt, y * (stride + 1))
    }
    previous = row
  }
  return Buffer.concat([
    signature,
    chunk('IHDR', header(width, height)),
    chunk('IDAT', deflateSync(filtered, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
