import {
  baguette,
  baked,
  bean,
  boule,
  cinnamonRoll,
  croissant,
  cut,
  palette as p,
  raspberry,
  shadow,
  wheat,
} from './bakes.ts'
import { type Canvas, fade, gradient, seeded } from './canvas.ts'
import {
  almond,
  blob,
  both,
  box,
  circle,
  curve,
  ellipse,
  grown,
  line,
  minus,
  outline,
  type Point,
  polygon,
  union,
} from './shapes.ts'

/** A wall with a low sun and a table in front: where everything that is for sale is shown. 800 × 600. */
export function stage(canvas: Canvas, wall: string, glow: string, table: string): void {
  canvas.fill(box(0, 0, 800, 600), wall)
  canvas.fill(circle(400, 330, 262), glow)
  canvas.fill(box(0, 462, 800, 138), table)
  canvas.fill(box(0, 462, 800, 10), p.flour, { alpha: 0.35 })
  canvas.fill(box(0, 472, 800, 14), p.bark, { alpha: 0.06, soft: 9 })
}

export function steam(canvas: Canvas, paint: string = p.flour): void {
  for (const [x, height] of [
    [-42, 90],
    [0, 120],
    [42, 84],
  ] as Point[]) {
    const wisp = curve(11, [x, 0], [x - 14, -height * 0.3], [x + 12, -height * 0.66], [x - 2, -height])
    canvas.fill(wisp, paint, { alpha: 0.7, soft: 4 })
  }
}

/** A starter in its jar, by the window. */
export function starterJar(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), p.blush)
  canvas.fill(box(90, 40, 300, 380, 150), p.flour)
  const pane = canvas.inside(box(108, 58, 264, 362, 132))
  pane.fill(box(90, 40, 300, 380), fade('#fbe3b8', p.apricot, 40, 420))
  pane.fill(circle(196, 300, 62), p.flour)
  pane.fill(ellipse(330, 440, 190, 110), p.sage)
  pane.fill(ellipse(140, 460, 170, 96), p.leaf)
  canvas.fill(box(233, 50, 14, 370), p.flour)
  canvas.fill(box(100, 226, 280, 12), p.flour)
  canvas.fill(box(60, 412, 360, 22, 6), p.flour)
  canvas.fill(box(0, 470, 800, 130), fade(p.crust, p.brown, 470, 660))
  shadow(canvas, 540, 520, 300)
  const jar = canvas.at({ x: 540, y: 330 })
  const glass = box(-120, -150, 240, 340, 42)
  jar.fill(glass, p.flour, { alpha: 0.55 })
  const inside = jar.inside(grown(glass, -12))
  inside.fill(
    blob([-130, -32], [-60, -54], [0, -40], [70, -58], [130, -34], [130, 220], [-130, 220]),
    fade('#f3dfb8', '#e3c38c', -60, 190),
  )
  const random = seeded(12)
  for (let bubble = 0; bubble < 46; bubble += 1) {
    const radius = 3 + random() ** 2 * 13
    const [x, y] = [(random() - 0.5) * 200, -14 + random() * 180]
    inside.fill(circle(x, y, radius), '#c99f63', { alpha: 0.55 })
    inside.fill(circle(x - radius * 0.2, y - radius * 0.2, radius * 0.72), '#f9ecd0', { alpha: 0.9 })
  }
  jar.fill(outline(glass, 7), p.flour)
  jar.fill(line(13, [-88, -104], [-88, 120]), p.flour, { alpha: 0.75 })
  jar.fill(box(-124, 56, 248, 15, 5), p.terracotta)
  jar.fill(blob([-134, -118], [-112, -176], [0, -196], [112, -176], [134, -118], [92, -132], [46, -116], [0, -132], [-46, -116], [-92, -132]), p.terracotta) // biome-ignore format: an outline
  for (const [x, y] of [
    [-82, -160],
    [-40, -176],
    [4, -180],
    [48, -174],
    [84, -158],
    [-62, -138],
    [-16, -150],
    [30, -150],
    [70, -138],
  ] as Point[]) {
    jar.fill(circle(x, y, 6), p.flour)
  }
  jar.fill(box(-122, -150, 244, 9, 4), p.butter)
  const spoon = canvas.at({ x: 690, y: 506, turn: -8 })
  spoon.fill(ellipse(-66, 0, 40, 22), p.bark)
  spoon.fill(line(13, [-40, 0], [90, -2]), p.bark)
}

function flame(canvas: Canvas, color: string): void {
  canvas.fill(blob([0, -130], [26, -70], [54, -36], [46, 20], [0, 36], [-46, 20], [-52, -30], [-22, -64]), color)
}

/** The brick oven at work. */
export function brickOven(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), p.brick)
  for (let row = 0; row < 13; row += 1) {
    for (let brick = 0; brick < 9; brick += 1) {
      const tone = [p.terracotta, '#b94b33', '#c26043'][(row * 5 + brick * 7) % 3] ?? p.terracotta
      canvas.fill(box(brick * 104 - (row % 2) * 52 - 18, row * 48 - 10, 96, 40, 6), tone)
    }
  }
  const arch = union(circle(400, 300, 236), box(164, 300, 472, 210))
  const stones = 13
  canvas.fill(grown(arch, 58), p.brick)
  for (let stone = 0; stone < stones; stone += 1) {
    const angle = Math.PI * (1 + (stone + 0.5) / stones)
    const at = canvas.at({
      x: 400 + Math.cos(angle) * 264,
      y: 300 + Math.sin(angle) * 264,
      turn: (angle * 180) / Math.PI + 90,
    })
    at.fill(box(-29, -26, 58, 52, 8), stone % 2 === 0 ? p.peach : p.apricot)
  }
  for (const x of [110, 638])
    for (const y of [306, 372, 438]) canvas.fill(box(x, y, 52, 58, 8), y === 372 ? p.peach : p.apricot)
  const mouth = canvas.inside(arch)
  mouth.fill(arch, p.ink)
  mouth.fill(ellipse(400, 470, 260, 230), p.brick, { alpha: 0.75, soft: 90 })
  mouth.fill(ellipse(400, 480, 170, 160), p.gold, { alpha: 0.55, soft: 80 })
  for (const [x, scale, turn] of [
    [250, 1.05, -8],
    [330, 1.5, 4],
    [420, 1.25, -5],
    [496, 1.6, 6],
    [566, 1.0, 8],
  ] as const) {
    const fire = mouth.at({ x, y: 440, scale, turn })
    flame(fire, p.terracotta)
    flame(fire.at({ x: 0, y: 8, scale: 0.72 }), p.honey)
    flame(fire.at({ x: 0, y: 16, scale: 0.4 }), p.cream)
  }
  canvas.fill(box(0, 486, 800, 114), fade(p.apricot, p.crust, 486, 640))
  canvas.fill(box(0, 486, 800, 9), p.flour, { alpha: 0.5 })
  canvas.fill(polygon([236, 520], [564, 520], [590, 548], [210, 548]), p.bark)
  canvas.fill(box(372, 546, 56, 70), p.bark)
  canvas.fill(polygon([236, 520], [564, 520], [568, 526], [232, 526]), p.crust)
  boule(canvas.at({ x: 400, y: 440, scale: 0.86 }))
}

/** The mill where the flour comes from, over a field of wheat. */
export function millInField(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), fade('#fbe8c6', p.apricot, 0, 440))
  canvas.fill(circle(230, 250, 96), p.flour)
  canvas.fill(circle(230, 250, 150), p.flour, { alpha: 0.3 })
  for (const [x, y, size] of [
    [120, 110, 1],
    [640, 80, 1.2],
    [420, 150, 0.7],
  ] as const) {
    const cloud = union(
      circle(x, y, 26 * size),
      circle(x + 36 * size, y - 12 * size, 34 * size),
      box(x - 40 * size, y, 130 * size, 26 * size, 13 * size),
    )
    canvas.fill(cloud, p.flour, { alpha: 0.75 })
  }
  canvas.fill(ellipse(120, 560, 480, 210), p.sage)
  canvas.fill(ellipse(660, 580, 460, 230), p.leaf)
  const mill = canvas.at({ x: 560, y: 230 })
  mill.fill(polygon([-48, 0], [48, 0], [82, 210], [-82, 210]), gradient(p.cream, p.apricot, -60, 0, 90, 0))
  mill.fill(blob([-62, 6], [-44, -46], [0, -70], [44, -46], [62, 6], [0, 12]), p.brick)
  mill.fill(union(circle(0, 150, 24), box(-24, 150, 48, 62)), p.bark)
  mill.fill(box(-14, 54, 28, 40, 12), p.teal)
  for (const turn of [18, 108, 198, 288]) {
    const sail = mill.at({ x: 0, y: -16, turn })
    sail.fill(box(8, -158, 40, 126, 4), p.flour)
    for (let slat = 0; slat < 5; slat += 1) sail.fill(box(8, -158 + slat * 30, 40, 4), p.crust)
    sail.fill(line(8, [4, 0], [4, -164]), p.bark)
  }
  mill.fill(circle(0, -16, 13), p.bark)
  canvas.fill(ellipse(300, 660, 680, 210), p.honey)
  const random = seeded(5)
  for (let row = 0; row < 3; row += 1) {
    for (let ear = 0; ear < 15; ear += 1) {
      const x = ear * 58 - 12 + random() * 26
      const place = { x, y: 560 + row * 60, scale: 0.6 + row * 0.12, turn: -9 + random() * 18 }
      wheat(canvas.at(place), [p.crust, p.gold, p.butter][row] ?? p.gold, [p.crust, p.gold, p.honey][row] ?? p.gold)
    }
  }
}

/** The stall on market day. */
export function marketStall(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), fade('#dfe9e2', p.cream, 0, 420))
  for (const [x, width, height, color] of [
    [0, 150, 250, p.peach],
    [150, 120, 310, p.blush],
    [560, 130, 280, p.peach],
    [690, 130, 330, p.butter],
  ] as const) {
    canvas.fill(box(x, 470 - height, width, height), color)
    canvas.fill(polygon([x - 8, 470 - height], [x + width / 2, 420 - height], [x + width + 8, 470 - height]), p.rose)
    for (const wx of [0.2, 0.6])
      for (const wy of [0.2, 0.5]) canvas.fill(box(x + width * wx, 470 - height * (1 - wy), 28, 42, 5), p.flour)
  }
  canvas.fill(box(0, 466, 800, 134), '#e8cfab')
  for (const x of [128, 656]) canvas.fill(box(x, 170, 16, 400), p.bark)
  canvas.fill(box(110, 250, 580, 150), p.brown, { alpha: 0.22 })
  for (let stripe = 0; stripe < 8; stripe += 1) {
    const [left, top] = [88 + stripe * 78, 112 + stripe * 70]
    const color = stripe % 2 === 0 ? p.terracotta : p.flour
    canvas.fill(polygon([top, 84], [top + 70, 84], [left + 78, 200], [left, 200]), color)
    canvas.fill(both(circle(left + 39, 200, 39), box(left, 199, 78, 50)), color)
  }
  canvas.fill(box(88, 196, 624, 8), p.bark, { alpha: 0.14 })
  baguette(canvas.at({ x: 186, y: 318, scale: 0.36, turn: -78 }))
  baguette(canvas.at({ x: 222, y: 312, scale: 0.38, turn: -90 }))
  baguette(canvas.at({ x: 258, y: 318, scale: 0.36, turn: -102 }))
  canvas.fill(polygon([160, 330], [286, 330], [270, 424], [176, 424]), p.crust)
  for (const y of [346, 372, 398]) canvas.fill(line(5, [166, y], [280, y]), p.bark, { alpha: 0.4 })
  boule(canvas.at({ x: 382, y: 374, scale: 0.48 }))
  boule(canvas.at({ x: 506, y: 374, scale: 0.48 }))
  boule(canvas.at({ x: 444, y: 310, scale: 0.46 }))
  croissant(canvas.at({ x: 612, y: 372, scale: 0.27 }))
  croissant(canvas.at({ x: 622, y: 334, scale: 0.25, turn: 8 }))
  canvas.fill(box(100, 412, 600, 40, 6), fade(p.honey, p.crust, 400, 470))
  canvas.fill(box(120, 452, 560, 124), p.brown)
  for (let plank = 0; plank < 7; plank += 1) canvas.fill(box(124 + plank * 80, 456, 73, 116, 3), p.crust)
  canvas.fill(box(300, 476, 200, 74, 10), p.forest)
  wheat(canvas.at({ x: 350, y: 544, scale: 0.27, turn: -12 }), p.butter)
  wheat(canvas.at({ x: 450, y: 544, scale: 0.27, turn: 12 }), p.butter)
  canvas.fill(circle(400, 513, 21), p.butter)
}

/** Butter going into dough, under the pin. */
export function lamination(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), '#e7d3b6')
  for (let board = 0; board < 5; board += 1)
    canvas.fill(box(0, board * 122, 800, 116, 4), board % 2 === 0 ? '#d9b98c' : '#dfc297')
  const random = seeded(31)
  for (let dust = 0; dust < 130; dust += 1)
    canvas.fill(circle(random() * 800, random() * 600, 1 + random() * 4), p.flour, { alpha: 0.7 })
  const slab = canvas.at({ x: 400, y: 334, turn: -5 })
  slab.fill(box(-290, -142, 580, 340, 34), p.bark, { alpha: 0.28, soft: 16 })
  for (let layer = 5; layer >= 0; layer -= 1) {
    slab.fill(box(-290, -160 + layer * 9, 580, 320, 30), layer % 2 === 0 ? '#f6e3bf' : p.honey)
  }
  const top = slab.inside(box(-290, -160, 580, 320, 30))
  top.fill(box(-290, -160, 580, 320, 30), gradient(p.cream, '#f3dcb0', -200, -160, 260, 160))
  slab.fill(box(-150, -104, 300, 208, 14), p.butter)
  slab.fill(box(-150, -104, 300, 208, 14), p.honey, { alpha: 0.35 })
  slab.fill(box(-134, -92, 200, 12, 6), p.flour, { alpha: 0.75 })
  top.fill(polygon([-300, -170], [-150, -170], [-60, 0], [-150, 170], [-300, 170]), p.bark, { alpha: 0.16, soft: 10 })
  top.fill(polygon([-300, -170], [-160, -170], [-76, 0], [-160, 170], [-300, 170]), '#fbecd0')
  const pin = canvas.at({ x: 520, y: 250, turn: 62 })
  pin.fill(box(-230, -20, 460, 92, 40), p.bark, { alpha: 0.26, soft: 16 })
  for (const side of [-1, 1]) pin.fill(line(30, [side * 200, 0], [side * 296, 0]), p.bark)
  const wood = baked(pin, box(-220, -46, 440, 92, 26), fade('#e3ab67', p.brown, -60, 70))
  wood.fill(box(-210, -32, 420, 14, 7), p.butter, { alpha: 0.5, soft: 4 })
  for (const y of [2, 20])
    wood.fill(curve(3, [-210, y], [-60, y - 5], [80, y + 4], [210, y - 2]), p.bark, { alpha: 0.25 })
}

/** A plum tart from above. */
export function plumTart(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), p.mist)
  for (let stripe = 0; stripe < 10; stripe += 1) canvas.fill(box(stripe * 84 + 20, 0, 26, 600), p.sage, { alpha: 0.22 })
  canvas.fill(circle(412, 318, 262), p.bark, { alpha: 0.28, soft: 18 })
  canvas.fill(circle(400, 300, 262), p.flour)
  canvas.fill(outline(circle(400, 300, 244), 5), p.teal, { alpha: 0.4 })
  const rim = Array.from({ length: 48 }, (_, step): Point => {
    const radius = step % 2 === 0 ? 214 : 200
    return [400 + Math.cos((step / 24) * Math.PI) * radius, 300 + Math.sin((step / 24) * Math.PI) * radius]
  })
  baked(canvas, blob(...rim), gradient(p.honey, p.crust, 250, 140, 540, 460), p.bark)
  canvas.fill(circle(400, 300, 178), p.brown, { alpha: 0.7 })
  canvas.fill(circle(400, 300, 172), p.honey)
  for (const [count, radius, scale] of [
    [18, 136, 1],
    [12, 82, 0.92],
    [6, 34, 0.72],
  ] as const) {
    for (let slice = 0; slice < count; slice += 1) {
      const angle = (slice / count) * 2 * Math.PI
      const part = canvas.at({
        x: 400 + Math.cos(angle) * radius,
        y: 300 + Math.sin(angle) * radius,
        turn: (angle * 180) / Math.PI + 62,
        scale,
      })
      part.fill(almond([-46, 4], [46, 4], 36), p.ink, { alpha: 0.4 })
      part.fill(almond([-46, 0], [46, 0], 36), p.plum)
      part.fill(almond([-40, 4], [40, 4], 25), p.berry)
      part.fill(almond([-30, 6], [26, 6], 13), p.apricot, { alpha: 0.85 })
    }
  }
  const random = seeded(17)
  for (let grain = 0; grain < 70; grain += 1) {
    const [angle, radius] = [random() * 6.28, random() * 205]
    canvas.fill(circle(400 + Math.cos(angle) * radius, 300 + Math.sin(angle) * radius, 1.5 + random() * 2), p.flour, {
      alpha: 0.85,
    })
  }
  for (const [x, y, turn] of [
    [96, 110, 20],
    [120, 500, -30],
    [706, 476, 15],
  ] as const) {
    const plum = canvas.at({ x, y, turn, scale: 1.1 })
    plum.fill(ellipse(6, 12, 60, 54), p.bark, { alpha: 0.3, soft: 10 })
    plum.fill(ellipse(0, 0, 58, 54), gradient('#7d4a78', '#3f2447', -40, -40, 40, 50))
    plum.fill(ellipse(-20, -20, 17, 13), p.blush, { alpha: 0.45, soft: 9 })
    plum.fill(curve(5, [0, -50], [6, -64], [18, -72]), p.bark)
    plum.fill(almond([12, -62], [62, -78], 26), p.leaf)
  }
  raspberry(canvas.at({ x: 690, y: 96, scale: 1.4 }))
  raspberry(canvas.at({ x: 742, y: 132, scale: 1.2, turn: 40 }))
}
