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

const { abs, cos, hypot, max, min, sin, sqrt } = Math

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
    // The first-order distance is never too large outside; deep inside it is, so there another estimate takes over.
    return near > -4 ? near : min(-4, (k - 1) * narrow)
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

function around(points: readonly Point[], margin: number) {
  const xs = points.map(([x]) => x)
  const ys = points.map(([, y]) => y)
  return {
    left: min(...xs) - margin,
    top: min(...ys) - margin,
    right: max(...xs) + margin,
    bottom: max(...ys) + margin,
  }
}

/** A stretch of a path, with the box around it: most stretches are ruled out by their box alone. */
interface Stretch {
  path: Float64Array
  left: number
  top: number
  right: number
  bottom: number
}

const linesPerStretch = 6

function stretchesOf(points: readonly Point[]): Stretch[] {
  const count = max(1, Math.ceil((points.length - 1) / linesPerStretch))
  return Array.from({ length: count }, (_, index) => {
    const part = points.slice(index * linesPerStretch, (index + 1) * linesPerStretch + 1)
    return { path: Float64Array.from(part.flat()), ...around(part, 0) }
  })
}

/** The square of the distance to the nearest line of a stretch, or `limit` when none is nearer. */
function toStretch(path: Float64Array, px: number, py: number, limit: number): number {
  let nearest = limit
  let ax = path[0] ?? 0
  let ay = path[1] ?? 0
  for (let at = 2; at < path.length; at += 2) {
    const bx = path[at] ?? 0
    const by = path[at + 1] ?? 0
    const ux = bx - ax
    const uy = by - ay
    const share = ((px - ax) * ux + (py - ay) * uy) / (ux * ux + uy * uy || 1)
    const along = share < 0 ? 0 : share > 1 ? 1 : share
    const dx = px - ax - ux * along
    const dy = py - ay - uy * along
    nearest = min(nearest, dx * dx + dy * dy)
    ax = bx
    ay = by
  }
  return nearest
}

function toPath(stretches: readonly Stretch[]): (px: number, py: number) => number {
  let lastNearest = stretches[0] // the next point is close to this one: its nearest stretch sets a low limit at once
  return (px, py) => {
    let nearest = lastNearest ? toStretch(lastNearest.path, px, py, Number.POSITIVE_INFINITY) : 0
    for (const stretch of stretches) {
      const dx = max(stretch.left - px, px - stretch.right, 0)
      const dy = max(stretch.top - py, py - stretch.bottom, 0)
      if (dx * dx + dy * dy >= nearest || stretch === lastNearest) continue
      const square = toStretch(stretch.path, px, py, nearest)
      if (square < nearest) lastNearest = stretch
      nearest = square
    }
    return sqrt(nearest)
  }
}

/** A line of round ends and corners. */
export function line(width: number, ...points: Point[]): Shape {
  const distance = toPath(stretchesOf(points))
  return { distance: (px, py) => distance(px, py) - width / 2, ...around(points, width / 2) }
}

/** How many lines of a stretch a ray to the right crosses. */
function crossings(path: Float64Array, px: number, py: number): number {
  let count = 0
  for (let at = 3; at < path.length; at += 2) {
    const ay = path[at - 2] ?? 0
    const by = path[at] ?? 0
    if (ay > py === by > py) continue
    const ax = path[at - 3] ?? 0
    if (px < ax + ((py - ay) / (by - ay)) * ((path[at - 1] ?? 0) - ax)) count += 1
  }
  return count
}

export function polygon(...points: Point[]): Shape {
  const stretches = stretchesOf([...points, ...points.slice(0, 1)])
  const toEdge = toPath(stretches)
  const distance = (px: number, py: number) => {
    let count = 0
    for (const { path, top, right, bottom } of stretches) {
      if (py >= top && py <= bottom && px <= right) count += crossings(path, px, py)
    }
    return count % 2 === 1 ? -toEdge(px, py) : toEdge(px, py)
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
          t *
            (2 * p0[axis] -
              5 * p1[axis] +
              4 * p2[axis] -
              p3[axis] +
              t * (3 * (p1[axis] - p2[axis]) + p3[axis] - p0[axis])))
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

function matrixOf({ turn = 0, scale = 1, flip = false }: Placing) {
  const radians = (turn * Math.PI) / 180
  return { cosine: cos(radians), sine: sin(radians), scale, side: flip ? -1 : 1 }
}

/** The point of the placed drawing that shows at a point of the picture. */
export function unplace(placing: Placing): (px: number, py: number) => Point {
  const { x, y } = placing
  const { cosine, sine, scale, side } = matrixOf(placing)
  const [c, s] = [cosine / scale, sine / scale]
  return (px, py) => [((px - x) * c + (py - y) * s) * side, (py - y) * c - (px - x) * s]
}

export function placed(shape: Shape, placing: Placing): Shape {
  const { x, y } = placing
  const { cosine, sine, scale, side } = matrixOf(placing)
  const [c, s] = [cosine / scale, sine / scale]
  const forth = ([px, py]: Point): Point => [
    x + (px * side * cosine - py * sine) * scale,
    y + (px * side * sine + py * cosine) * scale,
  ]
  const { left, top, right, bottom } = shape
  const corners: Point[] = [[left, top], [right, top], [right, bottom], [left, bottom]] // biome-ignore format: a box
  return {
    // Not by way of `unplace`: this is called millions of times, and a pair for each is too much to clean up.
    distance: (px, py) => shape.distance(((px - x) * c + (py - y) * s) * side, (py - y) * c - (px - x) * s) * scale,
    ...around(corners.map(forth), 0),
  }
}
