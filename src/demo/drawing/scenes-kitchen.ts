import { baked, boule, cinnamonRoll, croissant, cut, raspberry, shadow } from './bakes.ts'
import { type Canvas, fade, gradient, seeded } from './canvas.ts'
import { coffeeCup } from './goods.ts'
import { palette as p } from './palette.ts'
import { blob, curve, line, places, pointsOf, polygon } from './paths.ts'
import { stage } from './scenes-shop.ts'
import { almond, box, circle, ellipse, grown, outline, type Point, union } from './shapes.ts'

function archedWindow(canvas: Canvas): void {
  canvas.fill(union(circle(240, 190, 150), box(90, 190, 300, 232)), p.flour)
  const pane = canvas.inside(union(circle(240, 190, 132), box(108, 190, 264, 232)))
  pane.fill(box(90, 40, 300, 390), fade('#fbe3b8', p.apricot, 40, 420))
  pane.fill(circle(176, 300, 54), p.flour)
  pane.fill(ellipse(330, 440, 190, 110), p.sage)
  pane.fill(ellipse(140, 460, 170, 96), p.leaf)
  canvas.fill(box(233, 50, 14, 370), p.flour)
  canvas.fill(box(100, 226, 280, 12), p.flour)
  canvas.fill(box(60, 412, 360, 22, 6), p.flour)
}

/** A starter in its jar, by the window. */
export function starterJar(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), p.blush)
  archedWindow(canvas)
  canvas.fill(box(0, 470, 800, 130), fade(p.crust, p.brown, 470, 660))
  shadow(canvas, 540, 518, 300)
  const jar = canvas.at({ x: 540, y: 330 })
  const glass = box(-120, -150, 240, 340, 42)
  jar.fill(glass, p.flour, { alpha: 0.55 })
  const inside = jar.inside(grown(glass, -12))
  const dough = blob('-130 -32, -60 -54, 0 -40, 70 -58, 130 -34, 130 220, -130 220')
  inside.fill(dough, fade('#f3dfb8', '#e3c38c', -60, 190))
  const random = seeded(12)
  for (let bubble = 0; bubble < 46; bubble += 1) {
    const radius = 3 + random() ** 2 * 13
    const [x, y] = [(random() - 0.5) * 200, -14 + random() * 180]
    inside.fill(circle(x, y, radius), '#c99f63', { alpha: 0.55 })
    inside.fill(circle(x - radius * 0.2, y - radius * 0.2, radius * 0.72), '#f9ecd0', { alpha: 0.9 })
  }
  jar.fill(outline(glass, 7), p.flour)
  jar.fill(line(13, '-88 -100, -88 120'), p.flour, { alpha: 0.75 })
  jar.fill(box(-124, 56, 248, 15, 5), p.terracotta)
  const hem = '92 -132, 46 -116, 0 -132, -46 -116, -92 -132'
  jar.fill(blob(`-134 -118, -112 -176, 0 -196, 112 -176, 134 -118, ${hem}`), p.terracotta)
  for (const [x, y] of pointsOf(
    '-82 -164, -40 -176, 4 -182, 48 -176, 84 -164, -100 -130, -24 -130, 24 -130, 100 -130',
  )) {
    jar.fill(circle(x, y, 6), p.flour)
  }
  jar.fill(box(-122, -154, 244, 9, 4), p.butter)
  const spoon = canvas.at({ x: 690, y: 512, turn: -8 })
  spoon.fill(ellipse(-66, 0, 40, 22), p.bark)
  spoon.fill(line(13, '-40 0, 90 -2'), p.bark)
}

function flame(canvas: Canvas, color: string): void {
  canvas.fill(blob('0 -130, 26 -70, 54 -36, 46 20, 0 36, -46 20, -52 -30, -22 -64'), color)
}

function bricks(canvas: Canvas): void {
  const tones = [p.terracotta, '#b94b33', '#c26043']
  canvas.fill(box(0, 0, 800, 600), p.brick)
  for (let row = 0; row < 11; row += 1) {
    for (let brick = 0; brick < 9; brick += 1) {
      const tone = tones[(row * 5 + brick * 7) % 3] ?? p.terracotta
      canvas.fill(box(brick * 104 - (row % 2) * 52 - 18, row * 48 - 10, 96, 40, 6), tone)
    }
  }
}

/** The brick oven at work. */
export function brickOven(canvas: Canvas): void {
  bricks(canvas)
  const arch = union(circle(400, 300, 236), box(164, 300, 472, 210))
  canvas.fill(grown(arch, 58), p.brick)
  for (let stone = 0; stone < 13; stone += 1) {
    const angle = 180 + ((stone + 0.5) / 13) * 180
    const radians = (angle * Math.PI) / 180
    const place = { x: 400 + Math.cos(radians) * 264, y: 300 + Math.sin(radians) * 264, turn: angle + 90 }
    canvas.at(place).fill(box(-29, -26, 58, 52, 8), stone % 2 === 0 ? p.peach : p.apricot)
  }
  for (const [x, y] of pointsOf('110 306, 110 372, 110 438, 638 306, 638 372, 638 438')) {
    canvas.fill(box(x, y, 52, 58, 8), y === 372 ? p.peach : p.apricot)
  }
  const mouth = canvas.inside(arch)
  mouth.fill(arch, p.ink)
  mouth.fill(ellipse(400, 470, 260, 230), p.brick, { alpha: 0.75, soft: 90 })
  mouth.fill(ellipse(400, 480, 170, 160), p.gold, { alpha: 0.55, soft: 80 })
  for (const place of places('250 440 1.05 -8, 330 440 1.5 4, 420 440 1.25 -5, 496 440 1.6 6, 566 440 1 8')) {
    const fire = mouth.at(place)
    flame(fire, p.terracotta)
    flame(fire.at({ x: 0, y: 8, scale: 0.72 }), p.honey)
    flame(fire.at({ x: 0, y: 16, scale: 0.4 }), p.cream)
  }
  canvas.fill(box(0, 486, 800, 114), fade(p.apricot, p.crust, 486, 640))
  canvas.fill(box(0, 486, 800, 9), p.flour, { alpha: 0.5 })
  canvas.fill(polygon('236 520, 564 520, 590 548, 210 548'), p.bark)
  canvas.fill(box(372, 546, 56, 70), p.bark)
  canvas.fill(polygon('236 520, 564 520, 568 526, 232 526'), p.crust)
  boule(canvas.at({ x: 400, y: 440, scale: 0.86 }))
}

/** Butter going into dough, under the pin. */
export function lamination(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), '#e7d3b6')
  for (let board = 0; board < 5; board += 1) {
    canvas.fill(box(0, board * 122, 800, 116, 4), board % 2 === 0 ? '#d9b98c' : '#dfc297')
  }
  const random = seeded(31)
  for (let dust = 0; dust < 130; dust += 1) {
    canvas.fill(circle(random() * 800, random() * 600, 1 + random() * 4), p.flour, { alpha: 0.7 })
  }
  const slab = canvas.at({ x: 400, y: 334, turn: -5 })
  slab.fill(box(-290, -142, 580, 340, 34), p.bark, { alpha: 0.28, soft: 16 })
  for (let layer = 5; layer >= 0; layer -= 1) {
    slab.fill(box(-290, -160 + layer * 9, 580, 320, 30), layer % 2 === 0 ? '#f6e3bf' : p.honey)
  }
  const top = slab.inside(box(-290, -160, 580, 320, 30))
  top.fill(box(-290, -160, 580, 320, 30), gradient(p.cream, '#f3dcb0', -200, -160, 260, 160))
  slab.fill(box(-150, -104, 300, 208, 14), '#f4d188')
  slab.fill(box(-134, -92, 200, 12, 6), p.flour, { alpha: 0.75 })
  top.fill(polygon('-300 -170, -150 -170, -60 0, -150 170, -300 170'), p.bark, { alpha: 0.16, soft: 10 })
  top.fill(polygon('-300 -170, -160 -170, -76 0, -160 170, -300 170'), '#fbecd0')
  const pin = canvas.at({ x: 520, y: 250, turn: 62 })
  pin.fill(box(-230, -20, 460, 92, 40), p.bark, { alpha: 0.26, soft: 16 })
  for (const side of [-1, 1]) pin.fill(line(30, `${side * 200} 0, ${side * 296} 0`), p.bark)
  const wood = baked(pin, box(-220, -46, 440, 92, 26), fade('#e3ab67', p.brown, -60, 70))
  wood.fill(box(-210, -32, 420, 14, 7), p.butter, { alpha: 0.5, soft: 4 })
  for (const y of [2, 20])
    wood.fill(curve(3, `-210 ${y}, -60 ${y - 5}, 80 ${y + 4}, 210 ${y - 2}`), p.bark, { alpha: 0.25 })
}

function plum(canvas: Canvas): void {
  canvas.fill(ellipse(6, 12, 60, 54), p.bark, { alpha: 0.3, soft: 10 })
  canvas.fill(ellipse(0, 0, 58, 54), gradient('#7d4a78', '#3f2447', -40, -40, 40, 50))
  canvas.fill(ellipse(-20, -20, 17, 13), p.blush, { alpha: 0.45, soft: 9 })
  canvas.fill(curve(5, '0 -50, 6 -64, 18 -72'), p.bark)
  canvas.fill(almond([12, -62], [62, -78], 26), p.leaf)
}

/** A plum tart from above. */
export function plumTart(canvas: Canvas): void {
  const around = (share: number, radius: number): Point => [
    400 + Math.cos(share * 2 * Math.PI) * radius,
    300 + Math.sin(share * 2 * Math.PI) * radius,
  ]
  canvas.fill(box(0, 0, 800, 600), p.mist)
  for (let stripe = 0; stripe < 10; stripe += 1) canvas.fill(box(stripe * 84 + 20, 0, 26, 600), p.sage, { alpha: 0.22 })
  canvas.fill(circle(412, 318, 262), p.bark, { alpha: 0.28, soft: 18 })
  canvas.fill(circle(400, 300, 262), p.flour)
  canvas.fill(outline(circle(400, 300, 244), 5), p.teal, { alpha: 0.4 })
  const rim = Array.from({ length: 48 }, (_, step) => around(step / 48, step % 2 === 0 ? 214 : 200))
  baked(canvas, blob(rim), gradient(p.honey, p.crust, 250, 140, 540, 460), p.bark)
  canvas.fill(circle(400, 300, 178), p.brown, { alpha: 0.7 })
  canvas.fill(circle(400, 300, 172), p.honey)
  for (const { x: count, y: radius, scale } of places('18 136 1, 12 82 0.92, 6 34 0.72')) {
    for (let slice = 0; slice < count; slice += 1) {
      const [x, y] = around(slice / count, radius)
      const part = canvas.at({ x, y, turn: (slice / count) * 360 + 62, scale })
      part.fill(almond([-46, 4], [46, 4], 36), p.ink, { alpha: 0.4 })
      part.fill(almond([-46, 0], [46, 0], 36), p.plum)
      part.fill(almond([-40, 4], [40, 4], 25), p.berry)
      part.fill(almond([-30, 6], [26, 6], 13), p.apricot, { alpha: 0.85 })
    }
  }
  const random = seeded(17)
  for (let grain = 0; grain < 70; grain += 1) {
    canvas.fill(circle(...around(random(), random() * 205), 1.5 + random() * 2), p.flour, { alpha: 0.85 })
  }
  for (const place of places('96 110 1.1 20, 120 500 1.1 -30, 706 476 1.1 15')) plum(canvas.at(place))
  for (const place of places('690 96 1.4, 742 132 1.2 40')) raspberry(canvas.at(place))
}

/** Saturday morning: a cup and a croissant. */
export function breakfast(canvas: Canvas): void {
  stage(canvas, p.peach, p.apricot, '#f7e3c3')
  shadow(canvas, 220, 500, 400)
  coffeeCup(canvas.at({ x: 216, y: 392, scale: 0.96 }))
  shadow(canvas, 586, 518, 420)
  canvas.fill(ellipse(586, 498, 204, 44), p.flour)
  canvas.fill(ellipse(586, 494, 164, 30), p.mist)
  croissant(canvas.at({ x: 586, y: 402, scale: 0.8, turn: -3 }))
}

/** A dark loaf with slices cut from it. */
export function ryeSlices(canvas: Canvas): void {
  stage(canvas, p.mist, '#c9d6bf', '#caa06a')
  canvas.fill(box(60, 456, 680, 74, 22), p.bark, { alpha: 0.3, soft: 14 })
  canvas.fill(box(70, 440, 660, 70, 20), fade('#dba763', p.crust, 440, 520))
  canvas.fill(line(4, '110 480, 620 482'), p.brown, { alpha: 0.3 })
  const loaf = blob('106 442, 96 340, 126 268, 206 240, 340 236, 440 262, 470 340, 466 442, 280 448')
  const crust = baked(canvas, loaf, fade('#8a5230', '#4e2917', 236, 446), p.ink)
  crust.fill(ellipse(240, 268, 110, 22), p.honey, { alpha: 0.35, soft: 22 })
  for (const x of [180, 256, 332]) cut(crust, [x - 30, 300], [x + 44, 252], 20)
  for (const place of places('474 444 1 0, 546 446 1 3, 620 450 1 7')) {
    const slice = canvas.at(place)
    const shape = blob('-66 0, -78 -96, -60 -172, 0 -192, 60 -172, 78 -96, 66 0, 0 4')
    slice.fill(grown(shape, 8), '#5a3019')
    slice.fill(shape, gradient('#b98151', '#96603a', -60, -180, 60, 10))
    const crumb = slice.inside(grown(shape, -8))
    const random = seeded(place.x)
    for (let hole = 0; hole < 40; hole += 1) {
      const [x, y] = [(random() - 0.5) * 116, -18 - random() * 150]
      crumb.fill(ellipse(x, y, 2 + random() * 5, 1.5 + random() * 3), hole % 4 === 0 ? p.butter : '#7a4826')
    }
  }
}

/** A tray of buns, straight from the oven. */
export function trayOfBuns(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), p.teal)
  for (let dot = 0; dot < 80; dot += 1) {
    const row = Math.floor(dot / 10)
    canvas.fill(circle((dot % 10) * 90 + (row % 2) * 45, row * 86, 5), p.mist, { alpha: 0.25 })
  }
  canvas.fill(box(76, 66, 660, 500, 40), p.ink, { alpha: 0.35, soft: 18 })
  canvas.fill(box(70, 50, 660, 500, 40), '#8c7f78')
  canvas.fill(box(84, 64, 632, 472, 30), '#b3a59b')
  canvas.fill(polygon('104 92, 702 78, 694 520, 98 512'), p.cream)
  for (const [x, y] of pointsOf('210 188, 400 184, 590 188, 210 392, 400 396, 590 392')) {
    canvas.fill(circle(x, y + 22, 92), p.bark, { alpha: 0.3, soft: 10 })
    cinnamonRoll(canvas.at({ x, y, scale: 0.6, flip: x === 400 }), 0.94)
  }
}

/** Yesterday's bread, toasted, with tomatoes. */
export function toasts(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), p.butter)
  canvas.fill(circle(400, 300, 280), p.honey, { alpha: 0.35 })
  canvas.fill(box(92, 112, 640, 420, 60), p.bark, { alpha: 0.26, soft: 18 })
  canvas.fill(box(80, 90, 640, 420, 60), gradient('#d9a566', p.crust, 80, 90, 720, 520))
  for (const y of [170, 250, 344, 430]) {
    canvas.fill(curve(4, `110 ${y}, 300 ${y + 12}, 520 ${y - 10}, 690 ${y + 4}`), p.brown, { alpha: 0.22 })
  }
  const random = seeded(9)
  for (const place of places('250 236 1.05 -14, 548 222 1.05 10, 396 396 1.05 -2')) {
    const toast = canvas.at(place)
    const shape = blob('-110 60, -128 -14, -96 -72, 0 -84, 96 -72, 128 -14, 110 60, 0 74')
    toast.fill(grown(shape, 12), p.bark, { alpha: 0.3, soft: 12 })
    toast.fill(grown(shape, 7), p.brown)
    toast.fill(shape, gradient('#f4d39a', p.gold, -90, -80, 100, 80))
    for (const [x, y] of pointsOf('-78 -26, -28 -26, 22 -26, 72 -26, -52 32, -2 32, 48 32')) {
      const tomato = toast.at({ x, y, turn: random() * 180 })
      tomato.fill(circle(0, 0, 27), p.brick)
      tomato.fill(circle(0, 0, 22), '#dd6a4a')
      for (const turn of [0, 120, 240]) tomato.at({ x: 0, y: 0, turn }).fill(ellipse(0, -11, 5, 8), p.butter)
    }
    for (const x of [-74, -24, 26, 76]) {
      const basil = toast.at({ x, y: (random() - 0.5) * 76, turn: random() * 360 })
      basil.fill(blob('-22 0, 0 -12, 24 0, 0 12'), p.forest)
      basil.fill(line(2, '-16 0, 18 0'), p.sage)
    }
  }
}
