import { both, box, type Placing, placed, type Shape, unplace } from './shapes.ts'

type PaintAt = (x: number, y: number) => number
/** A colour as `#rrggbb`, or a function of the place. */
export type Paint = string | PaintAt

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
export function gradient(fromHex: string, toHex: string, x1: number, y1: number, x2: number, y2: number): Paint {
  // 64 tones are smooth to the eye and repeat often enough to keep the files small.
  const tones = Array.from({ length: 65 }, (_, step) => mixed(toRgb(fromHex), toRgb(toHex), step / 64))
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2
  return (x, y) => {
    const share = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length
    return tones[Math.round(Math.max(0, Math.min(1, share)) * 64)] ?? 0
  }
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
  function paintSpan(paint: number | PaintAt, row: number, from: number, to: number, share: number): void {
    const keep = 1 - share
    for (let x = from, at = (row * width + from) * 3; x < to; x += 1, at += 3) {
      const rgb = typeof paint === 'number' ? paint : paint(x + 0.5, row + 0.5)
      const [red, green, blue] = [rgb >> 16, (rgb >> 8) & 0xff, rgb & 0xff]
      pixels[at] = keep === 0 ? red : (pixels[at] ?? 0) * keep + red * share + 0.5
      pixels[at + 1] = keep === 0 ? green : (pixels[at + 1] ?? 0) * keep + green * share + 0.5
      pixels[at + 2] = keep === 0 ? blue : (pixels[at + 2] ?? 0) * keep + blue * share + 0.5
    }
  }

  function fillWithin(mask: Shape, shape: Shape, color: Paint, options: FillOptions = {}): void {
    const { alpha = 1, soft = sharp } = options
    const paint = typeof color === 'string' ? toRgb(color) : color
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

function placedCanvas(parent: Canvas, placing: Placing): Canvas {
  const back = unplace(placing)
  const placedPaint = (paint: Paint): Paint =>
    typeof paint === 'string'
      ? paint
      : (x, y) => {
          const [px, py] = back(x, y)
          return paint(px, py)
        }
  const self: Canvas = {
    fill: (shape, paint, { alpha = 1, soft } = {}) =>
      parent.fill(placed(shape, placing), placedPaint(paint), {
        alpha,
        ...(soft !== undefined && { soft: soft * (placing.scale ?? 1) }),
      }),
    at: (inner) => placedCanvas(self, inner),
    inside: (shape) => placedCanvas(parent.inside(placed(shape, placing)), placing),
  }
  return self
}
