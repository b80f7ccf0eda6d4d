import { baked } from './bakes.ts'
import { type Canvas, gradient } from './canvas.ts'
import { palette as p } from './palette.ts'
import { blob, curve, line, places, pointsOf, polygon } from './paths.ts'
import { almond, box, circle, ellipse, grown, minus, outline } from './shapes.ts'

/** An ear of wheat that stands on its stem, 230 high; its foot is the origin. */
export function wheat(canvas: Canvas, paint: string, stem: string = paint): void {
  canvas.fill(curve(5, '0 0, -2 -60, 2 -120, 0 -185'), stem)
  for (let row = 0; row < 5; row += 1) {
    const y = -80 - row * 24
    for (const side of [-1, 1]) canvas.fill(almond([side * 2, y + 8], [side * 26, y - 28], 17), paint)
  }
  canvas.fill(almond([0, -186], [0, -232], 17), paint)
}

export function bean(canvas: Canvas): void {
  canvas.fill(ellipse(0, 0, 22, 30), p.cocoa)
  canvas.fill(ellipse(-7, -9, 7, 11), p.brown, { alpha: 0.6, soft: 5 })
  canvas.fill(curve(4, '3 -28, -5 -8, 5 8, -3 28'), p.honey, { alpha: 0.75 })
}

/** A bag of coffee, 270 wide and 400 high. */
export function coffeeBag(canvas: Canvas): void {
  const bag = grown(polygon('-118 -190, 118 -190, 132 190, -132 190'), 6)
  const paper = baked(canvas, bag, gradient('#4a7a78', '#2f5453', -130, 0, 140, 60), p.ink)
  paper.fill(polygon('-124 -200, -80 -200, -96 200, -140 200'), p.mist, { alpha: 0.16 })
  paper.fill(polygon('92 -200, 124 -200, 140 200, 104 200'), p.ink, { alpha: 0.2 })
  canvas.fill(box(-130, -206, 260, 50, 8), '#2a4b4a')
  canvas.fill(box(-130, -170, 260, 8), p.honey)
  canvas.fill(box(-88, -104, 176, 226, 14), p.cream)
  canvas.fill(outline(box(-78, -94, 156, 206, 9), 3), p.honey)
  canvas.fill(circle(0, -20, 54), p.apricot)
  for (const place of places('-16 -14 1.1 -24, 22 -26 1.1 28')) bean(canvas.at(place))
  for (const [y, width] of pointsOf('60 104, 78 76, 94 50')) canvas.fill(box(-width / 2, y, width, 8, 4), p.bark)
}

/** A gift card, 440 wide, tied with a ribbon. */
export function giftCard(canvas: Canvas): void {
  const card = box(-220, -138, 440, 276, 26)
  const front = canvas.inside(card)
  canvas.fill(card, gradient(p.terracotta, p.brick, -200, -140, 200, 160))
  front.fill(circle(190, 150, 190), p.apricot, { alpha: 0.28 })
  front.fill(circle(230, 190, 150), p.honey, { alpha: 0.35 })
  for (const place of places('100 122 0.86 -24, 110 122 1 0, 120 122 0.86 24')) wheat(front.at(place), p.butter)
  front.fill(box(-122, -140, 42, 280), p.cream)
  for (const flip of [false, true]) {
    const half = canvas.at({ x: -101, y: -30, flip })
    half.fill(blob('4 0, 34 30, 58 84, 36 88, 10 40'), p.butter)
    half.fill(blob('0 0, 44 -58, 98 -56, 104 -10, 58 10'), p.cream)
    half.fill(blob('26 -10, 54 -36, 82 -36, 80 -14, 54 -4'), p.gold, { alpha: 0.55 })
  }
  canvas.fill(circle(-101, -30, 21), p.honey)
}

export function steam(canvas: Canvas): void {
  for (const [x, height] of pointsOf('-42 90, 0 120, 42 84')) {
    const wisp = curve(11, `${x} 0, ${x - 14} ${-height * 0.3}, ${x + 12} ${-height * 0.66}, ${x - 2} ${-height}`)
    canvas.fill(wisp, p.flour, { alpha: 0.7, soft: 4 })
  }
}

/** A cup of coffee on its saucer, 380 wide; the origin is the middle of the cup. */
export function coffeeCup(canvas: Canvas): void {
  canvas.fill(ellipse(0, 92, 190, 30), p.flour)
  canvas.fill(ellipse(0, 88, 120, 16), p.bark, { alpha: 0.16, soft: 8 })
  canvas.fill(minus(ellipse(118, 6, 54, 48), ellipse(118, 6, 30, 26)), p.terracotta)
  const cup = blob('-118 -66, 0 -62, 118 -66, 108 20, 62 84, 0 94, -62 84, -108 20')
  const body = baked(canvas, cup, p.terracotta, p.ink)
  body.fill(ellipse(-66, 0, 16, 56), p.flour, { alpha: 0.35, soft: 10 })
  canvas.fill(ellipse(0, -66, 119, 26), p.flour)
  canvas.fill(ellipse(0, -64, 106, 20), p.cocoa)
  canvas.inside(ellipse(0, -64, 106, 20)).fill(ellipse(-6, -62, 62, 11), p.crust, { alpha: 0.8, soft: 6 })
  steam(canvas.at({ x: 0, y: -96 }))
}

/** A wicker basket, 260 wide and 150 high, that hides what stands in it; the origin is the middle of its rim. */
export function basket(canvas: Canvas): void {
  const wicker = canvas.inside(grown(polygon('-118 8, 118 8, 92 142, -92 142'), 8))
  wicker.fill(box(-140, 0, 280, 160), gradient(p.gold, p.brown, -120, 0, 140, 120))
  for (let row = 0; row < 6; row += 1) {
    for (let strand = -4; strand <= 4; strand += 1) {
      const x = strand * 32 + (row % 2) * 16
      wicker.fill(almond([x - 17, 22 + row * 22], [x + 17, 22 + row * 22], 12), p.bark, { alpha: 0.32 })
    }
  }
  canvas.fill(box(-136, -10, 272, 26, 13), p.crust)
  for (let strand = -6; strand <= 5; strand += 1) {
    canvas.fill(line(5, `${strand * 21 + 4} 10, ${strand * 21 + 16} -4`), p.bark, { alpha: 0.4 })
  }
}

/** A windmill, 330 high with its sails; the origin is the foot of its tower. */
export function windmill(canvas: Canvas): void {
  canvas.fill(polygon('-48 -210, 48 -210, 82 0, -82 0'), gradient(p.cream, p.apricot, -60, 0, 90, 0))
  canvas.fill(blob('-62 -204, -44 -256, 0 -280, 44 -256, 62 -204, 0 -198'), p.brick)
  canvas.fill(circle(0, -60, 24), p.bark)
  canvas.fill(box(-24, -60, 48, 60), p.bark)
  canvas.fill(box(-14, -156, 28, 40, 12), p.teal)
  for (const turn of [18, 108, 198, 288]) {
    const sail = canvas.at({ x: 0, y: -226, turn })
    sail.fill(box(8, -158, 40, 126, 4), p.flour)
    for (let slat = 0; slat < 5; slat += 1) sail.fill(box(8, -158 + slat * 30, 40, 4), p.crust)
    sail.fill(line(8, '4 0, 4 -164'), p.bark)
  }
  canvas.fill(circle(0, -226, 13), p.bark)
}

/** Stripes of cloth that narrow towards the wall, with a scalloped hem; `left` to `right` is the hem. */
export function awning(canvas: Canvas, { left, right, top, hem, inset, stripes }: Awning): void {
  const below = (right - left) / stripes
  const above = (right - left - 2 * inset) / stripes
  for (let stripe = 0; stripe < stripes; stripe += 1) {
    const color = stripe % 2 === 0 ? p.terracotta : p.flour
    const [x, start] = [left + stripe * below, left + inset + stripe * above]
    const cloth = polygon(`${start} ${top}, ${start + above} ${top}, ${x + below} ${hem}, ${x} ${hem}`)
    canvas.fill(grown(cloth, 0.5), color) // the half pixel closes the seams
    canvas.inside(box(x, hem - 1, below, below)).fill(circle(x + below / 2, hem, below / 2), color)
  }
  canvas.fill(box(left, hem - 5, right - left, 7), p.bark, { alpha: 0.14 })
}

interface Awning {
  left: number
  right: number
  top: number
  hem: number
  inset: number
  stripes: number
}
