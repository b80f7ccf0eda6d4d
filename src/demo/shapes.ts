/**
 * Shapes as signed distances: how far a point is from the edge, in pixels, negative inside. Edges drawn from a distance
 * are smooth at any size and angle, and shapes combine with a min or a max.
 */
export interface Shape {
  distance: (x: number, y: number) => number
  /** Outside of these bounds the shape has nothing to draw. */
  left: number
  top: number
  right: number
  bottom: number
}

export type Point = readonly [x: number, y: number]

const { abs, cos, hypot, max, min, sign, sin, sqrt } = Math

export function circle(x: number, y: number, radius: number): Shape {
  return {
    distance: (px, py) => sqrt((px - x) ** 2 + (py - y) ** 2) - radius,
    left: x - radius,
    top: y - radius,
    right: x + radius,
    bottom: y + radius,
  }
}

export function ellipse(x: number, y: number, rx: number, ry: number): Shape {
  const narrow = min(rx, ry)
  const distance = (px: number, py: number) => {
    const dx = (px - x) / rx
    const dy = (py - y) / ry
    const k = sqrt(dx * dx + dy * dy)
    const slope = sqrt((dx / rx) ** 2 + (dy / ry) ** 2)
    const near = slope === 0 ? -narrow : (k * (k - 1)) / slope
    // The first-order distance is right at the edge only; away from it, an estimate that is never too large.
    return abs(near) < 2 ? near : sign(near) * max(1, abs(k - 1) * narrow)
  }
  return { distance, left: x - rx, top: y - ry, right: x + rx, bottom: y + ry }
}

/** A box from its top left corner. */
export function box(left: number, top: number, width: number, height: number, radius = 0): Shape {
  const x = left + width / 2
  const y = top + height / 2
  const distance = (px: number, py: number) => {
    const dx = abs(px - x) - width / 2 + radius
    const dy = abs(py - y) - height / 2 + radius
    const inside = min(max(dx, dy), 0)
    return (dx > 0 && dy > 0 ? sqrt(dx * dx + dy * dy) : max(dx, dy, 0)) + inside - radius
  }
  return { distance, left, top, right: left + width, bottom: top + height }
}

function toSegment(px: number, py: number, [ax, ay]: Point, [bx, by]: Point): number {
  const ux = bx - ax
  const uy = by - ay
  const along = max(0, min(1, ((px - ax) * ux + (py - ay) * uy) / (ux * ux + uy * uy || 1)))
  return (px - ax - ux * along) ** 2 + (py - ay - uy * along) ** 2
}

function around(points: readonly Point[], margin: number) {
  const xs = points.map(([x]) => x)
  const ys = points.map(([, y]) => y)
  return { left: min(...xs) - margin, top: min(...ys) - margin, right: max(...xs) + margin, bottom: max(...ys) + margin }
}

function segmentsOf(points: readonly Point[], closed: boolean): [Point, Point][] {
  const following = closed ? [...points.slice(1), ...points.slice(0, 1)] : points.slice(1)
  return following.map((to, position) => [points[position] ?? to, to])
}

/** A line of round ends and corners. */
export function line(width: number, ...points: Point[]): Shape {
  const segments = segmentsOf(points, false)
  const distance = (px: number, py: number) => {
    let nearest = Number.POSITIVE_INFINITY
    for (const [from, to] of segments) nearest = min(nearest, toSegment(px, py, from, to))
    return sqrt(nearest) - width / 2
  }
  return { distance, ...around(points, width / 2) }
}

export function polygon(...points: Point[]): Shape {
  const segments = segmentsOf(points, true)
  const distance = (px: number, py: number) => {
    let nearest = Number.POSITIVE_INFINITY
    let inside = false
    for (const [from, to] of segments) {
      nearest = min(nearest, toSegment(px, py, from, to))
      const crosses = from[1] > py !== to[1] > py
      if (crosses && px < from[0] + ((py - from[1]) / (to[1] - from[1])) * (to[0] - from[0])) inside = !inside
    }
    return inside ? -sqrt(nearest) : sqrt(nearest)
  }
  return { distance, ...around(points, 0) }
}

const stepsPerBend = 7

/** Points on a smooth curve through the given ones (Catmull–Rom). */
function smooth(points: readonly Point[], closed: boolean): Point[] {
  const at = (position: number): Point => {
    const count = points.length
    const index = closed ? (position + count) % count : max(0, min(count - 1, position))
    return points[index] ?? [0, 0]
  }
  const bends = closed ? points.length : points.length - 1
  const curve = Array.from({ length: bends * stepsPerBend }, (_, step): Point => {
    const bend = Math.floor(step / stepsPerBend)
    const t = (step % stepsPerBend) / stepsPerBend
    const [p0, p1, p2, p3] = [at(bend - 1), at(bend), at(bend + 1), at(bend + 2)]
    const blend = (axis: 0 | 1) =>
      p1[axis] +
      0.5 *
        t *
        (p2[axis] -
          p0[axis] +
          t * (2 * p0[axis] - 5 * p1[axis] + 4 * p2[axis] - p3[axis] + t * (3 * (p1[axis] - p2[axis]) + p3[axis] - p0[axis])))
    return [blend(0), blend(1)]
  })
  return closed ? curve : [...curve, at(points.length - 1)]
}

/** A soft outline through the given points. */
export function blob(...points: Point[]): Shape {
  return polygon(...smooth(points, true))
}

/** A soft line through the given points. */
export function curve(width: number, ...points: Point[]): Shape {
  return line(width, ...smooth(points, false))
}

/** An almond between two tips: a leaf, a grain, the cut in a crust. */
export function almond([ax, ay]: Point, [bx, by]: Point, width: number): Shape {
  const half = hypot(bx - ax, by - ay) / 2
  const reach = (half * half - (width / 2) ** 2) / width // how far the two arcs' centres are off the axis
  const radius = reach + width / 2
  const nx = ((by - ay) / half / 2) * reach
  const ny = (-(bx - ax) / half / 2) * reach
  const [mx, my] = [(ax + bx) / 2, (ay + by) / 2]
  const lens = both(circle(mx + nx, my + ny, radius), circle(mx - nx, my - ny, radius))
  return { distance: lens.distance, ...around([[ax, ay], [bx, by]], width / 2) } // biome-ignore format: two points
}

export function both(a: Shape, b: Shape): Shape {
  return {
    distance: (x, y) => max(a.distance(x, y), b.distance(x, y)),
    left: max(a.left, b.left),
    top: max(a.top, b.top),
    right: min(a.right, b.right),
    bottom: min(a.bottom, b.bottom),
  }
}

export function union(...shapes: Shape[]): Shape {
  return {
    distance: (x, y) => {
      let nearest = Number.POSITIVE_INFINITY
      for (const shape of shapes) nearest = min(nearest, shape.distance(x, y))
      return nearest
    },
    left: min(...shapes.map(({ left }) => left)),
    top: min(...shapes.map(({ top }) => top)),
    right: max(...shapes.map(({ right }) => right)),
    bottom: max(...shapes.map(({ bottom }) => bottom)),
  }
}

export function minus(shape: Shape, hole: Shape): Shape {
  return { ...shape, distance: (x, y) => max(shape.distance(x, y), -hole.distance(x, y)) }
}

/** Larger on all sides (smaller when negative), with rounder corners. */
export function grown(shape: Shape, by: number): Shape {
  return {
    distance: (x, y) => shape.distance(x, y) - by,
    left: shape.left - by,
    top: shape.top - by,
    right: shape.right + by,
    bottom: shape.bottom + by,
  }
}

/** Only the edge. */
export function outline(shape: Shape, width: number): Shape {
  return { ...grown(shape, width / 2), distance: (x, y) => abs(shape.distance(x, y)) - width / 2 }
}

/** Scaled and turned (clockwise, in degrees) about the origin, then moved there. */
export interface Placing {
  x: number
  y: number
  scale?: number
  turn?: number
  /** Mirrored left to right before anything else. */
  flip?: boolean
}

/** The way back: from a point of the picture to the point of the placed drawing that shows there. */
export function unplace({ x, y, scale = 1, turn = 0, flip = false }: Placing): (px: number, py: number) => Point {
  const c = cos((turn * Math.PI) / 180) / scale
  const s = sin((turn * Math.PI) / 180) / scale
  const side = flip ? -1 : 1
  return (px, py) => [((px - x) * c + (py - y) * s) * side, (py - y) * c - (px - x) * s]
}

export function placed(shape: Shape, placing: Placing): Shape {
  const { x, y, scale = 1, turn = 0, flip = false } = placing
  const back = unplace(placing)
  const c = cos((turn * Math.PI) / 180) * scale
  const s = sin((turn * Math.PI) / 180) * scale
  const forth = ([px, py]: Point): Point => {
    const sx = flip ? -px : px
    return [x + sx * c - py * s, y + sx * s + py * c]
  }
  const { left, top, right, bottom } = shape
  const corners: Point[] = [[left, top], [right, top], [right, bottom], [left, bottom]] // biome-ignore format: a box
  return {
    distance: (px, py) => {
      const [sx, sy] = back(px, py)
      return shape.distance(sx, sy) * scale
    },
    ...around(corners.map(forth), 0),
  }
}
