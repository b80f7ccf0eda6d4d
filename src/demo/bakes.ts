import { type Canvas, fade, gradient, type Paint, seeded } from './canvas.ts'
import {
  almond,
  blob,
  box,
  circle,
  curve,
  ellipse,
  grown,
  line,
  outline,
  type Point,
  polygon,
  type Shape,
} from './shapes.ts'

/** The bakery's colours; every picture takes its paints from here, so that they belong together. */
export const palette = {
  cream: '#fdf4e4', flour: '#fffaf0', butter: '#f8dfa6', honey: '#efb95d', gold: '#e09f3e', crust: '#c67a34',
  brown: '#9a5426', bark: '#6b3719', ink: '#3d2014', peach: '#fbd8b4', apricot: '#f4b183', terracotta: '#c9583a',
  brick: '#a63f2a', berry: '#9b2f4b', rose: '#e39a93', blush: '#f6d5c8', sage: '#9db08a', leaf: '#6f8a5b',
  forest: '#47633f', teal: '#3f6b6a', mist: '#dfe7dc', night: '#2d3350', plum: '#5d3a5e', cocoa: '#4a2a1c',
} as const // biome-ignore format: a paint box

const p = palette

/** What lies on a table darkens it. */
export function shadow(canvas: Canvas, x: number, y: number, width: number, height = width * 0.09): void {
  canvas.fill(ellipse(x, y, width / 2, height), p.bark, { alpha: 0.34, soft: height * 0.9 })
}

/** A body of dough: a dark edge below, light from the upper left. */
export function baked(canvas: Canvas, shape: Shape, body: Paint, edge: string = p.bark): Canvas {
  const within = canvas.inside(shape)
  canvas.fill(shape, body)
  within.fill(outline(shape, 10), edge, { alpha: 0.28, soft: 7 })
  return within
}

/** A cut that opened in the oven: dark lip, pale crumb. */
export function cut(canvas: Canvas, from: Point, to: Point, width: number): void {
  canvas.fill(almond(from, to, width), p.brown)
  const lower = (point: Point): Point => [point[0], point[1] + width * 0.14]
  canvas.fill(almond(lower(from), lower(to), width * 0.62), p.butter)
}

/** An ear of wheat that stands on its stem, 200 high; its foot is the origin. */
export function wheat(canvas: Canvas, paint: string, stem: string = paint): void {
  canvas.fill(curve(5, [0, 0], [-2, -60], [2, -120], [0, -185]), stem)
  for (let row = 0; row < 5; row += 1) {
    const y = -80 - row * 24
    for (const side of [-1, 1]) canvas.fill(almond([side * 2, y + 8], [side * 26, y - 28], 17), paint)
  }
  canvas.fill(almond([0, -186], [0, -232], 17), paint)
}

/** A round sourdough, 360 wide, scored with an ear of wheat and dusted with flour. */
export function boule(canvas: Canvas): void {
  const shape = blob([-180, 40], [-165, -40], [-105, -108], [0, -132], [105, -108], [165, -40], [180, 40], [140, 86], [0, 98], [-140, 86]) // biome-ignore format: an outline
  const crust = baked(canvas, shape, fade(p.gold, p.brown, -130, 100))
  crust.fill(ellipse(-40, -70, 120, 50), p.butter, { alpha: 0.5, soft: 45 })
  crust.fill(ellipse(0, 120, 210, 60), p.bark, { alpha: 0.5, soft: 35 })
  for (const ring of [22, 46, 70]) crust.fill(outline(grown(shape, -ring), 8), p.flour, { alpha: 0.2, soft: 5 })
  cut(canvas, [-8, 72], [6, -116], 26)
  for (let row = 0; row < 4; row += 1) {
    const y = 44 - row * 38
    const reach = 66 - Math.abs(row - 1.2) * 8
    for (const side of [-1, 1]) cut(canvas, [side * 20, y + 8], [side * (20 + reach), y - 32], 17)
  }
  const random = seeded(7)
  for (let speck = 0; speck < 60; speck += 1) {
    const at: Point = [(random() - 0.5) * 320, (random() - 0.6) * 200]
    crust.fill(circle(...at, 1 + random() * 2), p.flour, { alpha: 0.55 })
  }
}

/** A baguette, 520 long, lying level. */
export function baguette(canvas: Canvas): void {
  const shape = blob([-270, 8], [-225, -24], [-140, -45], [0, -52], [140, -45], [225, -24], [270, 8], [222, 31], [120, 43], [0, 46], [-120, 43], [-222, 31]) // biome-ignore format: an outline
  const crust = baked(canvas, shape, fade(p.honey, p.brown, -56, 54))
  crust.fill(ellipse(0, -34, 220, 13), p.butter, { alpha: 0.65, soft: 12 })
  for (let place = -2; place <= 2; place += 1) cut(canvas, [place * 84 - 54, 18], [place * 84 + 50, -28], 28)
}

/** A croissant, 400 wide, its tips pointing down. */
export function croissant(canvas: Canvas): void {
  for (const place of [-4, 4, -3, 3, -2, 2, -1, 1, 0]) {
    const angle = place * 22.5
    const size = 1 - (Math.abs(place) / 4) ** 1.5 * 0.66
    const breadth = 1 - (Math.abs(place) / 4) ** 3 * 0.3
    const radians = (angle * Math.PI) / 180
    const part = canvas.at({ x: Math.sin(radians) * 166, y: 80 - Math.cos(radians) * 136, turn: angle })
    const [wide, tall] = [46 * breadth, 84 * size]
    const shape = blob([-wide * 0.74, -tall], [wide * 0.74, -tall], [wide, 0], [wide * 0.6, tall * 0.93], [-wide * 0.6, tall * 0.93], [-wide, 0]) // biome-ignore format: an outline
    part.fill(grown(shape, 4), p.brown)
    const body = baked(part, shape, fade(p.honey, p.crust, -tall, tall), p.brown)
    body.fill(ellipse(-6, -tall * 0.52, 26, tall * 0.32), p.butter, { alpha: 0.75, soft: 15 })
    for (const stripe of [-0.42, 0, 0.42]) {
      const x = stripe * wide
      body.fill(curve(4, [x * 0.9, -tall * 0.9], [x * 1.3, 0], [x * 0.6, tall * 0.9]), p.brown, { alpha: 0.4 })
    }
  }
}

/** A cinnamon roll from above and a little aside, 300 wide, iced. */
export function cinnamonRoll(canvas: Canvas): void {
  const side = baked(canvas, blob([-152, 0], [0, -124], [152, 0], [146, 62], [84, 126], [0, 142], [-84, 126], [-146, 62]), fade(p.crust, p.brown, 0, 140)) // biome-ignore format: an outline
  side.fill(ellipse(0, 150, 150, 40), p.bark, { alpha: 0.5, soft: 24 })
  const top = ellipse(0, 0, 150, 122)
  const dough = baked(canvas, top, gradient(p.butter, p.gold, -90, -100, 110, 110), p.brown)
  const spiral = Array.from({ length: 42 }, (_, step): Point => {
    const radius = 132 - step * 2.95
    return [Math.cos(step * 0.42) * radius, Math.sin(step * 0.42) * radius * 0.81]
  })
  dough.fill(curve(20, ...spiral), p.crust, { alpha: 0.55, soft: 5 })
  dough.fill(curve(11, ...spiral), p.bark)
  const drizzle = [-108, -70, -32, 6, 44, 82, 118].flatMap((x, turn): Point[] => {
    const reach = Math.sqrt(1 - (x / 152) ** 2) * 112
    return turn % 2 === 0 ? [[x - 22, reach - 8], [x + 12, -reach]] : [[x + 12, -reach - 4], [x - 22, reach]] // biome-ignore format: two points
  })
  dough.fill(curve(13, ...drizzle), p.bark, { alpha: 0.3, soft: 5 })
  canvas.fill(curve(11, ...drizzle), p.flour)
}

/** A cookie of 260 with chunks of chocolate and flakes of salt; the seed deals them out. */
export function cookie(canvas: Canvas, seed: number): void {
  const random = seeded(seed)
  const rim = Array.from({ length: 14 }, (_, step): Point => {
    const radius = 122 + random() * 13
    return [Math.cos((step / 7) * Math.PI) * radius, Math.sin((step / 7) * Math.PI) * radius]
  })
  const body = baked(canvas, blob(...rim), gradient(p.honey, p.crust, -90, -110, 90, 120), p.brown)
  body.fill(ellipse(-34, -46, 62, 50), p.butter, { alpha: 0.45, soft: 40 })
  const spots = [[-62, -48], [18, -78], [74, -22], [-10, -4], [-84, 32], [44, 50], [-26, 76], [98, 44], [-28, -104]] // biome-ignore format: a few points
  for (const [x = 0, y = 0] of spots) {
    const part = body.at({ x, y, turn: random() * 90, scale: 0.8 + random() * 0.5 })
    const chunk = grown(polygon([-15, -13], [14, -17], [17, 12], [-8, 17]), 4)
    part.fill(grown(chunk, 3), p.brown, { alpha: 0.6 })
    part.fill(chunk, p.cocoa)
    part.fill(line(4, [-10, -11], [9, -13]), p.crust, { alpha: 0.5 })
  }
  for (let crack = 0; crack < 6; crack += 1) {
    const [x, y] = [(random() - 0.5) * 150, (random() - 0.5) * 150]
    body.fill(curve(3, [x, y], [x + 14, y + 8], [x + 24, y + 26]), p.brown, { alpha: 0.55 })
  }
  for (let flake = 0; flake < 16; flake += 1) {
    const at = body.at({ x: (random() - 0.5) * 190, y: (random() - 0.5) * 190, turn: random() * 90 })
    at.fill(box(-3.5, -3.5, 7, 7, 1.5), p.flour)
  }
}

export function raspberry(canvas: Canvas): void {
  canvas.fill(blob([-20, -12], [0, -24], [20, -12], [17, 12], [0, 24], [-17, 12]), p.berry)
  for (const [x, y] of [
    [-9, -9],
    [8, -11],
    [-1, 2],
    [12, 4],
    [-12, 6],
    [3, 14],
  ] as Point[]) {
    canvas.fill(circle(x, y, 6.5), '#c24f63')
    canvas.fill(circle(x - 2, y - 2, 2), p.blush)
  }
}

/** A layer cake on its stand, 380 wide, 420 high; the origin is the middle of the plate. */
export function cake(canvas: Canvas): void {
  canvas.fill(polygon([-22, 10], [22, 10], [40, 128], [-40, 128]), p.teal)
  canvas.fill(ellipse(0, 130, 92, 16), p.teal)
  canvas.fill(box(-192, -4, 384, 24, 12), '#4f807e')
  for (let layer = 0; layer < 4; layer += 1) {
    const top = -62 - layer * 58
    canvas.fill(box(-146, top, 292, 62, 12), fade('#e8b673', p.crust, top, top + 62))
    canvas.fill(box(-150, top - 2, 300, 20, 10), p.cream)
    canvas.fill(box(-146, top + 14, 292, 5, 2), p.brown, { alpha: 0.22 })
  }
  canvas.inside(box(-150, -260, 300, 260)).fill(box(70, -260, 90, 260), p.bark, { alpha: 0.16, soft: 34 })
  const drips = [[-138, 40], [-104, 74], [-66, 48], [-26, 92], [16, 54], [54, 80], [96, 44], [134, 66]] // biome-ignore format: a few points
  canvas.fill(box(-156, -262, 312, 40, 20), p.rose)
  for (const [x = 0, length = 0] of drips) canvas.fill(line(33, [x, -240], [x, -240 + length]), p.rose)
  canvas.fill(box(-140, -256, 210, 8, 4), p.blush, { alpha: 0.9 })
  for (const [x, turn] of [
    [-116, -40],
    [112, 35],
    [4, 0],
  ] as Point[]) {
    canvas.at({ x, y: -262, turn }).fill(almond([0, 6], [0, -66], 30), p.leaf)
    canvas.at({ x, y: -262, turn: turn + 38 }).fill(almond([0, 6], [0, -54], 26), p.sage)
  }
  for (const [x, y] of [
    [-84, -276],
    [-34, -278],
    [18, -280],
    [70, -276],
    [-58, -310],
    [-6, -316],
    [44, -310],
  ] as Point[]) {
    raspberry(canvas.at({ x, y, scale: 1.25, turn: x / 3 }))
  }
}

export function bean(canvas: Canvas): void {
  canvas.fill(ellipse(0, 0, 22, 30), p.cocoa)
  canvas.fill(ellipse(-7, -9, 7, 11), p.brown, { alpha: 0.6, soft: 5 })
  canvas.fill(curve(4, [3, -28], [-5, -8], [5, 8], [-3, 28]), p.honey, { alpha: 0.75 })
}

/** A bag of coffee, 260 wide and 380 high. */
export function coffeeBag(canvas: Canvas): void {
  const shape = polygon([-118, -190], [118, -190], [132, 190], [-132, 190])
  const paper = baked(canvas, grown(shape, 6), gradient('#4a7a78', '#2f5453', -130, 0, 140, 60), p.ink)
  paper.fill(polygon([-124, -200], [-80, -200], [-96, 200], [-140, 200]), p.mist, { alpha: 0.16 })
  paper.fill(polygon([92, -200], [124, -200], [140, 200], [104, 200]), p.ink, { alpha: 0.2 })
  canvas.fill(box(-130, -206, 260, 50, 8), '#2a4b4a')
  canvas.fill(box(-130, -170, 260, 8), p.honey)
  canvas.fill(box(-88, -104, 176, 226, 14), p.cream)
  canvas.fill(outline(box(-78, -94, 156, 206, 9), 3), p.honey)
  canvas.fill(circle(0, -20, 54), p.apricot)
  bean(canvas.at({ x: -16, y: -14, scale: 1.1, turn: -24 }))
  bean(canvas.at({ x: 22, y: -26, scale: 1.1, turn: 28 }))
  for (const [y, width] of [
    [60, 104],
    [78, 76],
    [94, 50],
  ] as Point[])
    canvas.fill(box(-width / 2, y, width, 8, 4), p.bark)
}

/** A gift card, 440 wide, tied with a ribbon. */
export function giftCard(canvas: Canvas): void {
  const card = box(-220, -138, 440, 276, 26)
  const front = canvas.inside(card)
  canvas.fill(card, gradient(p.terracotta, p.brick, -200, -140, 200, 160))
  front.fill(circle(190, 150, 190), p.apricot, { alpha: 0.28 })
  front.fill(circle(230, 190, 150), p.honey, { alpha: 0.35 })
  for (const [x, turn, scale] of [
    [70, -24, 0.86],
    [110, 0, 1],
    [150, 24, 0.86],
  ] as const) {
    wheat(front.at({ x: 110 + (x - 110) * 0.25, y: 122, turn, scale }), p.butter)
  }
  front.fill(box(-122, -140, 42, 280), p.cream)
  for (const flip of [false, true]) {
    const half = canvas.at({ x: -101, y: -30, flip })
    half.fill(blob([4, 0], [34, 30], [58, 84], [36, 88], [10, 40]), p.butter)
    half.fill(blob([0, 0], [44, -58], [98, -56], [104, -10], [58, 10]), p.cream)
    half.fill(blob([26, -10], [54, -36], [82, -36], [80, -14], [54, -4]), p.gold, { alpha: 0.55 })
  }
  canvas.fill(circle(-101, -30, 21), p.honey)
}
