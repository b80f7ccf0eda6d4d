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

/** The bounds of some points. */
export function around(points: readonly Point[], margin: number) {
  const xs = points.map(([x]) => x)
  const ys = points.map(([, y]) => y)
  return {
    left: min(...xs) - margin,
    top: min(...ys) - margin,
    right: max(...xs) + margin,
    bottom: max(...ys) + margin,
  }
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
export function unplace(placing: Placing, px: number, py: number): Point {
  const { cosine, sine, scale, side } = matrixOf(placing)
  const [dx, dy] = [(px - placing.x) / scale, (py - placing.y) / scale]
  return [(dx * cosine + dy * sine) * side, dy * cosine - dx * sine]
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
    // Not by way of `unplace`: this runs millions of times, and a pair for each is too much to clean up.
    distance: (px, py) => shape.distance(((px - x) * c + (py - y) * s) * side, (py - y) * c - (px - x) * s) * scale,
    ...around(corners.map(forth), 0),
  }
}
