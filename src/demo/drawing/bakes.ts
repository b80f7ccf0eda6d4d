import { type Canvas, fade, gradient, type Paint, seeded } from './canvas.ts'
import { palette as p } from './palette.ts'
import { blob, curve, line, places, pointsOf, polygon } from './paths.ts'
import { almond, box, circle, ellipse, grown, outline, type Point, type Shape, union } from './shapes.ts'

/** What lies on a table darkens it, most of all in the middle. */
export function shadow(canvas: Canvas, x: number, y: number, width: number, height = width * 0.07): void {
  for (const part of [1, 0.82, 0.6]) {
    const reach = (width / 2 - height) * part
    canvas.fill(line(height * 1.4, `${x - reach} ${y}, ${x + reach} ${y}`), p.bark, { alpha: 0.13, soft: height * 1.2 })
  }
}

/** A body of dough: filled, and darker along its edge. Returns what is inside, to draw on. */
export function baked(canvas: Canvas, shape: Shape, body: Paint, edge: string = p.bark): Canvas {
  const within = canvas.inside(shape)
  canvas.fill(shape, body)
  within.fill(outline(shape, 10), edge, { alpha: 0.28, soft: 7 })
  return within
}

/** A cut that opened in the oven: dark lip, pale crumb. */
export function cut(canvas: Canvas, from: Point, to: Point, width: number): void {
  canvas.fill(almond(from, to, width), p.brown)
  const lower = ([x, y]: Point): Point => [x, y + width * 0.14]
  canvas.fill(almond(lower(from), lower(to), width * 0.62), p.butter)
}

/** A round sourdough, 360 wide, scored with an ear of wheat and dusted with flour. */
export function boule(canvas: Canvas): void {
  const shape = blob('-180 40, -165 -40, -105 -108, 0 -132, 105 -108, 165 -40, 180 40, 140 86, 0 98, -140 86')
  const crust = baked(canvas, shape, fade(p.gold, p.brown, -130, 100))
  crust.fill(ellipse(-40, -70, 120, 50), p.butter, { alpha: 0.5, soft: 45 })
  crust.fill(ellipse(0, 120, 210, 60), p.bark, { alpha: 0.5, soft: 35 })
  for (const ring of [22, 46]) crust.fill(outline(grown(shape, -ring), 8), p.flour, { alpha: 0.2, soft: 5 })
  cut(canvas, [-8, 72], [6, -116], 26)
  for (let row = 0; row < 4; row += 1) {
    const y = 44 - row * 38
    const reach = 86 - Math.abs(row - 1.2) * 8
    for (const side of [-1, 1]) cut(canvas, [side * 20, y + 8], [side * reach, y - 32], 17)
  }
  const random = seeded(7)
  for (let speck = 0; speck < 60; speck += 1) {
    const place: Point = [(random() - 0.5) * 320, (random() - 0.6) * 200]
    crust.fill(circle(...place, 1 + random() * 2), p.flour, { alpha: 0.55 })
  }
}

/** A baguette, 540 long, lying level. */
export function baguette(canvas: Canvas): void {
  const upper = '-270 8, -225 -24, -140 -45, 0 -52, 140 -45, 225 -24, 270 8'
  const crust = baked(canvas, blob(`${upper}, 222 31, 120 43, 0 46, -120 43, -222 31`), fade(p.honey, p.brown, -56, 54))
  crust.fill(ellipse(0, -34, 220, 13), p.butter, { alpha: 0.65, soft: 12 })
  for (let place = -2; place <= 2; place += 1) cut(canvas, [place * 84 - 54, 18], [place * 84 + 50, -28], 28)
}

/** A croissant, 430 wide, its tips pointing down. */
export function croissant(canvas: Canvas): void {
  for (const place of [-4, 4, -3, 3, -2, 2, -1, 1, 0]) {
    const step = Math.abs(place)
    const angle = step === 4 ? place * 25.5 : place * 23.5
    const radians = (angle * Math.PI) / 180
    const arc = { x: Math.sin(radians) * 166, y: 80 - Math.cos(radians) * 138 }
    const part = canvas.at({ ...arc, turn: angle, flip: place < 0 })
    // In the part's own terms the tip of the croissant is to the right, and that is where the part gets thinner.
    const tall = 84 * (1 - (step / 4) ** 1.5 * 0.55)
    const thin = step === 0 ? tall : tall * (step === 4 ? 0.42 : 0.9)
    const wide = step === 4 ? 54 : 46
    const back = `${-wide} 0, ${-0.74 * wide} ${-tall}`
    const shape = blob(
      `${back}, ${0.74 * wide} ${-thin}, ${wide} 0, ${0.62 * wide} ${thin}, ${-0.62 * wide} ${tall * 0.93}`,
    )
    part.fill(grown(shape, 4), p.brown)
    const body = baked(part, shape, fade(p.honey, p.crust, -tall, tall), p.brown)
    body.fill(ellipse(-6, -tall * 0.52, 26, tall * 0.32), p.butter, { alpha: 0.75, soft: 15 })
    for (const stripe of [-19, 0, 19]) {
      const crease = curve(4, `${stripe * 0.9} ${-tall * 0.9}, ${stripe * 1.3} 0, ${stripe * 0.6} ${tall * 0.9}`)
      body.fill(crease, p.brown, { alpha: 0.4 })
    }
  }
}

/** A cinnamon roll, 300 wide, iced. Tilt is how much it shows of its top: 1 is from right above. */
export function cinnamonRoll(canvas: Canvas, tilt: number): void {
  const depth = 20 + 190 * (1 - tilt)
  const top = ellipse(0, 0, 150, 150 * tilt)
  const whole = union(top, box(-150, 0, 300, depth), ellipse(0, depth, 150, 150 * tilt))
  const side = baked(canvas, whole, fade(p.gold, p.brown, 0, depth + 110 * tilt))
  side.fill(outline(ellipse(0, depth * 0.55, 150, 150 * tilt), 9), p.bark, { alpha: 0.5 })
  const dough = baked(canvas, top, gradient(p.butter, p.gold, -90, -100, 110, 110), p.brown)
  const spiral = Array.from({ length: 42 }, (_, step): Point => {
    const radius = 132 - step * 2.95
    return [Math.cos(step * 0.42) * radius, Math.sin(step * 0.42) * radius * tilt]
  })
  dough.fill(curve(22, spiral), p.crust, { alpha: 0.5, soft: 5 })
  dough.fill(curve(11, spiral), p.bark)
  // The icing runs to and fro and a little over the rim.
  const drizzle = pointsOf(
    '-118 60, -104 -50, -76 104, -50 -104, -26 146, 6 -130, 30 140, 58 -100, 76 110, 106 -52, 120 44',
  )
  const icing = drizzle.map(([x, y]): Point => [x, y * tilt * 0.9 + (y > 0 ? depth * 0.22 : 6)])
  side.fill(curve(15, icing), p.bark, { alpha: 0.28, soft: 5 })
  side.fill(curve(13, icing), p.flour)
}

/** A cookie of 260 with chunks of chocolate and flakes of salt; the seed deals them out. */
export function cookie(canvas: Canvas, seed: number): void {
  const random = seeded(seed)
  const rim = Array.from({ length: 11 }, (_, step): Point => {
    const angle = (step / 11) * 2 * Math.PI
    const radius = 125 + random() * 8
    return [Math.cos(angle) * radius, Math.sin(angle) * radius]
  })
  const body = baked(canvas, blob(rim), gradient(p.honey, p.crust, -90, -110, 90, 120), p.brown)
  body.fill(ellipse(-34, -46, 62, 50), p.butter, { alpha: 0.45, soft: 40 })
  for (const [x, y] of pointsOf('-62 -44, 14 -80, 72 -30, -6 -8, -82 30, 44 44, -22 74, 86 34, -34 -92')) {
    const part = body.at({ x, y, turn: random() * 90, scale: 0.75 + random() * 0.45 })
    const chunk = grown(polygon('-15 -13, 14 -17, 17 12, -8 17'), 4)
    part.fill(grown(chunk, 3), p.brown, { alpha: 0.6 })
    part.fill(chunk, p.cocoa)
    part.fill(line(4, '-10 -11, 9 -13'), p.crust, { alpha: 0.5 })
  }
  for (let crack = 0; crack < 6; crack += 1) {
    const part = body.at({ x: (random() - 0.5) * 150, y: (random() - 0.5) * 150 })
    part.fill(curve(3, '0 0, 14 8, 24 26'), p.brown, { alpha: 0.55 })
  }
  for (let flake = 0; flake < 16; flake += 1) {
    const part = body.at({ x: (random() - 0.5) * 180, y: (random() - 0.5) * 180, turn: random() * 90 })
    part.fill(box(-3.5, -3.5, 7, 7, 1.5), p.flour)
  }
}

export function raspberry(canvas: Canvas): void {
  canvas.fill(blob('-20 -12, 0 -24, 20 -12, 17 12, 0 24, -17 12'), p.berry)
  for (const [x, y] of pointsOf('-9 -9, 8 -11, -1 2, 12 4, -12 6, 3 14')) {
    canvas.fill(circle(x, y, 6.5), '#c24f63')
    canvas.fill(circle(x - 2, y - 2, 2), p.blush)
  }
}

/** A layer cake on its stand, 380 wide, 470 high; the origin is the middle of the plate. */
export function cake(canvas: Canvas): void {
  canvas.fill(polygon('-22 10, 22 10, 40 128, -40 128'), p.teal)
  canvas.fill(ellipse(0, 130, 92, 16), p.teal)
  canvas.fill(box(-192, -4, 384, 24, 12), '#4f807e')
  for (let layer = 0; layer < 4; layer += 1) {
    const top = -62 - layer * 58
    canvas.fill(box(-146, top, 292, 62, 12), fade('#e8b673', p.crust, top, top + 62))
    canvas.fill(box(-150, top - 2, 300, 20, 10), p.cream)
    canvas.fill(box(-146, top + 14, 292, 5, 2), p.brown, { alpha: 0.22 })
  }
  canvas.inside(box(-150, -260, 300, 260, 10)).fill(box(84, -300, 120, 340), p.bark, { alpha: 0.16, soft: 40 })
  canvas.fill(box(-156, -262, 312, 40, 20), p.rose)
  for (const [x, length] of pointsOf('-138 40, -104 74, -66 48, -26 92, 16 54, 54 80, 96 44, 134 66')) {
    canvas.fill(box(x - 16.5, -250, 33, length + 26, 16), p.rose)
  }
  canvas.fill(box(-140, -256, 210, 8, 4), p.blush, { alpha: 0.9 })
  for (const { x, turn } of places('-116 0 1 -40, 112 0 1 35')) {
    canvas.at({ x, y: -262, turn }).fill(almond([0, 6], [0, -66], 30), p.leaf)
    canvas.at({ x, y: -262, turn: turn + 38 }).fill(almond([0, 6], [0, -54], 26), p.sage)
  }
  for (const [x, y] of pointsOf('-84 -276, -34 -278, 18 -280, 70 -276, -58 -310, -6 -316, 44 -310')) {
    raspberry(canvas.at({ x, y, scale: 1.25, turn: x / 3 }))
  }
}
