import { around, type Placing, type Point, type Shape } from './shapes.ts'

/** Points as `x y, x y, …`: an outline is easier to draw and to read without its brackets. */
export type Path = string | readonly Point[]

const { hypot, max, min, sqrt } = Math

function rowsOf(text: string): number[][] {
  return text.split(',').map((row) => row.trim().split(' ').map(Number))
}

export function pointsOf(path: Path): readonly Point[] {
  return typeof path === 'string' ? rowsOf(path).map(([x = 0, y = 0]): Point => [x, y]) : path
}

/** Where to draw the same thing several times, as `x y scale turn, …`; the last two may be left out. */
export function places(text: string): Required<Pick<Placing, 'x' | 'y' | 'scale' | 'turn'>>[] {
  return rowsOf(text).map(([x = 0, y = 0, scale = 1, turn = 0]) => ({ x, y, scale, turn }))
}

/** A stretch of a path, with the box around it: most stretches are ruled out by their box alone. */
interface Stretch {
  path: Float64Array
  left: number
  top: number
  right: number
  bottom: number
}

const linesPerStretch = 8

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
export function line(width: number, path: Path): Shape {
  const points = pointsOf(path)
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

export function polygon(path: Path): Shape {
  const points = pointsOf(path)
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

/** Points on a smooth curve through the given ones (Catmull–Rom), the closer together the shorter the bend. */
function smooth(points: readonly Point[], closed: boolean): Point[] {
  const count = points.length
  const at = (position: number): Point => {
    const index = closed ? (position + count) % count : max(0, min(count - 1, position))
    return points[index] ?? [0, 0]
  }
  const bend = (_: unknown, start: number): Point[] => {
    const [p0, p1, p2, p3] = [at(start - 1), at(start), at(start + 1), at(start + 2)]
    const steps = max(3, min(12, Math.round(hypot(p2[0] - p1[0], p2[1] - p1[1]) / 12)))
    const blend = (axis: 0 | 1, t: number) => {
      const slope = p2[axis] - p0[axis]
      const pull = 2 * p0[axis] - 5 * p1[axis] + 4 * p2[axis] - p3[axis]
      const twist = 3 * (p1[axis] - p2[axis]) + p3[axis] - p0[axis]
      return p1[axis] + 0.5 * t * (slope + t * (pull + t * twist))
    }
    return Array.from({ length: steps }, (_, step) => [blend(0, step / steps), blend(1, step / steps)])
  }
  const curve = Array.from({ length: closed ? count : count - 1 }, bend).flat()
  return closed ? curve : [...curve, at(count - 1)]
}

/** A soft outline through the given points. */
export function blob(path: Path): Shape {
  return polygon(smooth(pointsOf(path), true))
}

/** A soft line through the given points. */
export function curve(width: number, path: Path): Shape {
  return line(width, smooth(pointsOf(path), false))
}
