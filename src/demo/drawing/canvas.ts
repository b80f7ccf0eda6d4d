import { both, box, type Placing, placed, type Shape, unplace } from './shapes.ts'

/** Tones along a line: the tone at a point is the one at x · dx + y · dy + offset, from 0 (first) to 1 (last). */
export interface Gradient {
  tones: readonly number[]
  dx: number
  dy: number
  offset: number
}

/** A colour as `#rrggbb`, or a gradient. */
export type Paint = string | Gradient

export interface FillOptions {
  /** How much of the paint covers what is below, 0 to 1. */
  alpha?: number
  /** How far the edge fades to either side, in pixels: shadows and glows. */
  soft?: number
}

export interface Canvas {
  fill: (shape: Shape, paint: Paint, options?: FillOptions) => void
  /** The same canvas with another origin, scale and angle. */
  at: (placing: Placing) => Canvas
  /** The same canvas, where nothing is drawn outside of the shape. */
  inside: (shape: Shape) => Canvas
}

const toRgb = (hex: string): number => Number.parseInt(hex.slice(1), 16)

function mixed(from: number, to: number, share: number): number {
  const channel = (shift: number) => {
    const start = (from >> shift) & 0xff
    return Math.round(start + (((to >> shift) & 0xff) - start) * share) << shift
  }
  return channel(16) | channel(8) | channel(0)
}

/** From one colour to another along the line between two points. */
export function gradient(from: string, to: string, x1: number, y1: number, x2: number, y2: number): Gradient {
  // 64 tones are smooth to the eye and repeat often enough to keep the files small.
  const tones = Array.from({ length: 65 }, (_, step) => mixed(toRgb(from), toRgb(to), step / 64))
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length]
  return { tones, dx, dy, offset: -x1 * dx - y1 * dy }
}

/** From top to bottom. */
export function fade(topHex: string, bottomHex: string, top: number, bottom: number): Paint {
  return gradient(topHex, bottomHex, 0, top, 0, bottom)
}

/** Numbers from 0 to 1 that look random and are the same every time. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** How much of a pixel is covered, where the edge fades over `soft` pixels to either side. */
function coverage(distance: number, soft: number): number {
  const share = Math.max(0, Math.min(1, 0.5 - distance / (2 * soft)))
  return soft > 0.5 ? share * share * (3 - 2 * share) : share
}

const sharp = 0.5

export function createCanvas(width: number, height: number): Canvas & { pixels: Uint8Array } {
  const pixels = new Uint8Array(width * height * 3)

  /** Paints one stretch of a row. */
  function paintSpan(paint: Gradient, row: number, from: number, to: number, share: number): void {
    const { tones, dx } = paint
    const last = tones.length - 1
    const slope = dx * last
    const start = ((row + 0.5) * paint.dy + 0.5 * dx + paint.offset) * last + 0.5
    const weight = Math.round(share * 256)
    let rgb = tones[0] ?? 0
    for (let x = from, at = (row * width + from) * 3; x < to; x += 1, at += 3) {
      if (slope !== 0 || (last > 0 && x === from)) {
        const tone = Math.floor(start + x * slope)
        rgb = tones[tone < 0 ? 0 : tone > last ? last : tone] ?? 0
      }
      if (weight === 256) {
        pixels[at] = rgb >> 16
        pixels[at + 1] = rgb >> 8
        pixels[at + 2] = rgb
        continue
      }
      const red = pixels[at] ?? 0
      const green = pixels[at + 1] ?? 0
      const blue = pixels[at + 2] ?? 0
      pixels[at] = red + ((((rgb >> 16) - red) * weight + 128) >> 8)
      pixels[at + 1] = green + (((((rgb >> 8) & 0xff) - green) * weight + 128) >> 8)
      pixels[at + 2] = blue + ((((rgb & 0xff) - blue) * weight + 128) >> 8)
    }
  }

  function fillWithin(mask: Shape, shape: Shape, color: Paint, options: FillOptions = {}): void {
    const { alpha = 1, soft = sharp } = options
    const paint = typeof color === 'string' ? { tones: [toRgb(color)], dx: 0, dy: 0, offset: 0 } : color
    const left = Math.max(0, Math.floor(Math.max(shape.left - soft, mask.left - 1)))
    const right = Math.min(width, Math.ceil(Math.min(shape.right + soft, mask.right + 1)))
    const top = Math.max(0, Math.floor(Math.max(shape.top - soft, mask.top - 1)))
    const bottom = Math.min(height, Math.ceil(Math.min(shape.bottom + soft, mask.bottom + 1)))
    for (let row = top; row < bottom; row += 1) {
      const y = row + 0.5
      // A distance is also how far nothing changes: whole stretches outside and inside need no second look.
      let toMask = 0
      let maskKnownUntil = left
      for (let column = left; column < right; ) {
        const distance = shape.distance(column + 0.5, y)
        if (distance >= soft) {
          column += 1 + Math.floor(distance - soft)
          continue
        }
        if (column >= maskKnownUntil) {
          toMask = mask.distance(column + 0.5, y)
          maskKnownUntil = column + 1 + Math.floor(Math.max(0, Math.abs(toMask) - sharp))
        }
        const uniform = distance <= -soft ? column + 1 + Math.floor(-distance - soft) : column + 1
        const next = toMask >= sharp ? maskKnownUntil : Math.min(right, uniform, maskKnownUntil)
        if (toMask < sharp) {
          paintSpan(paint, row, column, next, alpha * coverage(distance, soft) * coverage(toMask, sharp))
        }
        column = next
      }
    }
  }

  function canvasWithin(mask: Shape): Canvas {
    const self: Canvas = {
      fill: (shape, paint, options) => fillWithin(mask, shape, paint, options),
      at: (placing) => placedCanvas(self, placing),
      inside: (shape) => canvasWithin(both(mask, shape)),
    }
    return self
  }

  return { ...canvasWithin(box(-width, -height, 3 * width, 3 * height)), pixels }
}

function placedPaint(paint: Paint, placing: Placing): Paint {
  if (typeof paint === 'string') return paint
  const { dx, dy } = paint
  const [x0, y0] = unplace(placing, 0, 0)
  const [x1, y1] = unplace(placing, 1, 0)
  const [x2, y2] = unplace(placing, 0, 1)
  return {
    tones: paint.tones,
    dx: (x1 - x0) * dx + (y1 - y0) * dy,
    dy: (x2 - x0) * dx + (y2 - y0) * dy,
    offset: x0 * dx + y0 * dy + paint.offset,
  }
}

function placedCanvas(parent: Canvas, placing: Placing): Canvas {
  const self: Canvas = {
    fill: (shape, paint, { alpha = 1, soft } = {}) =>
      parent.fill(placed(shape, placing), placedPaint(paint, placing), {
        alpha,
        ...(soft !== undefined && { soft: soft * (placing.scale ?? 1) }),
      }),
    at: (inner) => placedCanvas(self, inner),
    inside: (shape) => placedCanvas(parent.inside(placed(shape, placing)), placing),
  }
  return self
}
