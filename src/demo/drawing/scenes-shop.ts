import { baguette, boule, cake, cinnamonRoll, cookie, croissant, shadow } from './bakes.ts'
import { type Canvas, gradient, seeded } from './canvas.ts'
import { bean, coffeeBag, giftCard, wheat } from './goods.ts'
import { palette as p } from './palette.ts'
import { blob, curve, line, places, pointsOf, polygon } from './paths.ts'
import { almond, box, circle, ellipse, grown, outline } from './shapes.ts'

/** A wall with a low sun and a table in front: where everything that is for sale is shown. 800 × 600. */
export function stage(canvas: Canvas, wall: string, glow: string, table: string): void {
  canvas.fill(box(0, 0, 800, 600), wall)
  canvas.fill(circle(400, 330, 262), glow)
  canvas.fill(box(0, 462, 800, 138), table)
  canvas.fill(box(0, 462, 800, 10), p.flour, { alpha: 0.4 })
}

function sourdough(canvas: Canvas, scale: number): void {
  stage(canvas, p.peach, p.apricot, p.sand)
  shadow(canvas, 400, 508, 390 * scale)
  boule(canvas.at({ x: 400, y: 516 - 98 * scale, scale }))
}

export const smallSourdough = (canvas: Canvas) => sourdough(canvas, 1)
export const largeSourdough = (canvas: Canvas) => sourdough(canvas, 1.5)

export function baguettes(canvas: Canvas): void {
  stage(canvas, p.butter, p.honey, p.sand)
  shadow(canvas, 400, 540, 330)
  for (const place of places('336 296 0.86 -98, 464 296 0.86 -82, 400 276 0.9 -90')) baguette(canvas.at(place))
  const bag = canvas.inside(grown(polygon('286 306, 514 306, 496 536, 304 536'), 6))
  bag.fill(box(270, 290, 260, 260), gradient('#e2c08d', '#c79a5f', 290, 300, 520, 540))
  bag.fill(polygon('270 290, 318 290, 336 550, 270 550'), p.flour, { alpha: 0.22 })
  bag.fill(polygon('478 290, 530 290, 530 550, 464 550'), p.bark, { alpha: 0.1 })
  // The torn upper edge of the paper.
  for (let tooth = 0; tooth < 12; tooth += 1) canvas.fill(circle(289 + tooth * 20.2, 300, 10.4), '#e2c08d')
  canvas.fill(circle(400, 424, 58), p.terracotta)
  canvas.fill(outline(circle(400, 424, 49), 3), p.butter)
  wheat(canvas.at({ x: 400, y: 464, scale: 0.36 }), p.butter)
}

export function butterCroissant(canvas: Canvas): void {
  stage(canvas, p.blush, p.rose, '#f7e0cd')
  shadow(canvas, 400, 500, 470)
  croissant(canvas.at({ x: 400, y: 368, scale: 1.3 }))
}

export function roll(canvas: Canvas): void {
  stage(canvas, p.mist, p.sage, p.sand)
  shadow(canvas, 400, 528, 580)
  canvas.fill(ellipse(400, 492, 272, 62), p.flour)
  canvas.fill(ellipse(400, 488, 222, 44), p.mist)
  canvas.fill(ellipse(400, 494, 190, 34), p.bark, { alpha: 0.25, soft: 12 })
  cinnamonRoll(canvas.at({ x: 400, y: 318, scale: 1.16 }), 0.52)
}

export function cookies(canvas: Canvas): void {
  stage(canvas, p.oat, p.apricot, p.sand)
  shadow(canvas, 404, 516, 600)
  cookie(canvas.at({ x: 270, y: 372, scale: 1.05 }), 3)
  cookie(canvas.at({ x: 540, y: 366, scale: 1.12 }), 11)
  cookie(canvas.at({ x: 410, y: 406, scale: 0.94 }), 27)
}

export function berryCake(canvas: Canvas): void {
  stage(canvas, p.blush, '#f2b9ac', '#f9e6d6')
  shadow(canvas, 400, 524, 300)
  cake(canvas.at({ x: 400, y: 400, scale: 0.94 }))
}

function espresso(canvas: Canvas, scale: number, beans: number): void {
  stage(canvas, p.oat, '#d6b98a', p.sand)
  shadow(canvas, 400, 506, 330 * scale)
  coffeeBag(canvas.at({ x: 400, y: 506 - 196 * scale, scale }))
  const random = seeded(beans)
  for (let place = 0; place < beans; place += 1) {
    const side = place % 2 === 0 ? -1 : 1
    const x = 400 + side * (154 * scale + 30 + random() * 150)
    const y = 500 + random() * 56
    shadow(canvas, x, y + 16, 60, 7)
    bean(canvas.at({ x, y, turn: random() * 180, scale: 0.72 }))
  }
}

export const smallEspresso = (canvas: Canvas) => espresso(canvas, 0.86, 6)
export const largeEspresso = (canvas: Canvas) => espresso(canvas, 1.14, 12)

export function giftCards(canvas: Canvas): void {
  stage(canvas, p.butter, p.apricot, p.sand)
  shadow(canvas, 400, 512, 460)
  const envelope = canvas.at({ x: 430, y: 336, turn: 7 })
  envelope.fill(box(-220, -138, 440, 276, 14), p.cream)
  envelope.fill(polygon('-214 -134, 214 -134, 0 40'), p.peach)
  envelope.fill(line(3, '-214 -134, 0 40, 214 -134'), p.gold, { alpha: 0.5 })
  const card = canvas.at({ x: 384, y: 356, turn: -7 })
  card.fill(box(-214, -124, 432, 270, 26), p.bark, { alpha: 0.26, soft: 14 })
  giftCard(card)
}

/** The mark of the house: a steaming loaf between two ears of wheat, in a seal. 512 × 512. */
export function logo(canvas: Canvas): void {
  canvas.fill(box(0, 0, 512, 512), p.cream)
  canvas.fill(circle(256, 256, 236), p.terracotta)
  canvas.fill(outline(circle(256, 256, 216), 5), p.butter)
  for (const flip of [false, true]) {
    const half = canvas.at({ x: 256, y: 256, flip })
    for (let grain = 0; grain < 7; grain += 1) {
      const angle = 78 - grain * 13
      const radians = (angle * Math.PI) / 180
      const at = half.at({ x: Math.cos(radians) * 172, y: Math.sin(radians) * 172, turn: angle - 90 })
      at.fill(almond([-4, -2], [32, -22], 18), p.butter)
      at.fill(almond([-4, 4], [32, 22], 18), p.honey)
    }
  }
  for (const [x, height] of pointsOf('196 70, 256 92, 316 70')) {
    const rise = (share: number) => 166 - height * share
    canvas.fill(curve(13, `${x} 166, ${x - 10} ${rise(0.35)}, ${x + 10} ${rise(0.65)}, ${x} ${rise(1)}`), p.butter)
  }
  const loaf = blob('118 286, 126 228, 172 192, 256 182, 340 192, 386 228, 394 286, 370 324, 256 332, 142 324')
  canvas.fill(loaf, p.cream)
  const crust = canvas.inside(loaf)
  for (const x of [186, 256, 326]) crust.fill(curve(15, `${x - 26} 300, ${x - 8} 252, ${x + 28} 210`), p.terracotta)
}
