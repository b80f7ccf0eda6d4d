import { baguette, boule, croissant } from './bakes.ts'
import { type Canvas, fade, seeded } from './canvas.ts'
import { awning, basket, wheat, windmill } from './goods.ts'
import { palette as p } from './palette.ts'
import { blob, places, pointsOf, polygon } from './paths.ts'
import { box, circle, ellipse, minus, union } from './shapes.ts'

export function cloud(canvas: Canvas): void {
  const shape = union(circle(0, 0, 26), circle(36, -12, 34), box(-40, 0, 130, 26, 13))
  canvas.fill(shape, p.flour, { alpha: 0.75 })
}

/** A row of ears from left to right, no two of them alike. */
export function wheatRow(canvas: Canvas, y: number, scale: number, width: number, paint: string, stem: string): void {
  const random = seeded(y)
  for (let x = 0; x < width; x += 96 * scale) {
    wheat(canvas.at({ x: x + random() * 44 * scale, y, scale, turn: -9 + random() * 18 }), paint, stem)
  }
}

/** The mill where the flour comes from, over a field of wheat. */
export function millInField(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), fade('#fbe8c6', p.apricot, 0, 440))
  canvas.fill(circle(230, 250, 150), p.flour, { alpha: 0.3 })
  canvas.fill(circle(230, 250, 96), p.flour)
  for (const place of places('120 110, 640 80 1.2, 400 150 0.7')) cloud(canvas.at(place))
  canvas.fill(ellipse(120, 560, 480, 210), p.sage)
  canvas.fill(ellipse(660, 580, 460, 230), p.leaf)
  windmill(canvas.at({ x: 560, y: 440 }))
  canvas.fill(ellipse(300, 660, 680, 210), p.honey)
  wheatRow(canvas, 560, 0.6, 800, p.crust, p.crust)
  wheatRow(canvas, 620, 0.72, 800, p.gold, p.gold)
  wheatRow(canvas, 680, 0.84, 800, p.butter, p.honey)
}

function house(canvas: Canvas, wall: string, roof: string, window: string): void {
  canvas.fill(box(-70, -300, 140, 300), wall)
  canvas.fill(polygon('-80 -298, 0 -356, 80 -298'), roof)
  for (const [x, y] of pointsOf('-46 -262, 14 -262, -46 -176, 14 -176')) canvas.fill(box(x, y, 32, 46, 5), window)
}

/** The stall on market day. */
export function marketStall(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), fade(p.mist, p.cream, 0, 420))
  for (const place of places('150 60 0.8, 640 44')) cloud(canvas.at(place))
  for (const place of places('62 470 0.9, 740 470 1.08')) house(canvas.at(place), p.peach, p.rose, p.flour)
  for (const place of places('200 470 1.04, 610 470 0.9')) house(canvas.at(place), p.butter, p.apricot, p.flour)
  canvas.fill(box(0, 466, 800, 134), '#e8cfab')
  canvas.fill(box(140, 190, 520, 230), '#f0dcbd')
  canvas.fill(box(140, 190, 520, 56), p.bark, { alpha: 0.22, soft: 26 })
  for (const x of [128, 656]) canvas.fill(box(x, 170, 16, 400), p.bark)
  awning(canvas, { left: 88, right: 712, top: 84, hem: 196, inset: 24, stripes: 9 })
  for (const place of places('194 316 0.36 -98, 254 316 0.36 -82, 224 308 0.38 -90')) baguette(canvas.at(place))
  basket(canvas.at({ x: 224, y: 340, scale: 0.54 }))
  for (const place of places('382 372 0.48, 506 372 0.48, 444 308 0.46')) boule(canvas.at(place))
  for (const place of places('606 386 0.26 -3, 612 348 0.25 6')) croissant(canvas.at(place))
  canvas.fill(box(100, 412, 600, 40, 6), fade(p.honey, p.crust, 400, 470))
  canvas.fill(box(120, 452, 560, 124), p.brown)
  for (let plank = 0; plank < 7; plank += 1) canvas.fill(box(124 + plank * 80, 456, 73, 116, 3), p.crust)
  canvas.fill(box(300, 476, 200, 74, 10), p.forest)
  for (const place of places('350 544 0.27 -12, 450 544 0.27 12')) wheat(canvas.at(place), p.butter)
  boule(canvas.at({ x: 400, y: 518, scale: 0.19 }))
}

function bakersWindow(canvas: Canvas): void {
  canvas.fill(box(150, 318, 320, 206, 8), p.cocoa)
  const pane = canvas.inside(box(162, 330, 296, 182, 4))
  pane.fill(box(162, 330, 296, 182), fade(p.butter, p.honey, 330, 540))
  pane.fill(box(162, 424, 296, 8), p.brown)
  for (const place of places('200 406 0.19, 272 406 0.19, 344 406 0.19, 416 406 0.19')) boule(pane.at(place))
  for (const place of places('206 482 0.19 82, 226 478 0.19 92, 246 482 0.19 100')) baguette(pane.at(place))
  basket(pane.at({ x: 226, y: 486, scale: 0.34 }))
  const baker = pane.at({ x: 382, y: 512, scale: 0.78 })
  baker.fill(blob('-62 40, -50 -18, 0 -34, 50 -18, 62 40'), p.flour)
  baker.fill(circle(0, -58, 27), p.apricot)
  baker.fill(blob('-28 -70, -36 -104, 0 -116, 36 -104, 28 -70, 0 -76'), p.flour)
  canvas.fill(box(304, 330, 8, 182), p.cocoa)
}

/** The shop before dawn: only the bakers' window is lit. */
export function shopAtNight(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), fade(p.night, p.dusk, 0, 520))
  const random = seeded(44)
  for (let star = 0; star < 60; star += 1) {
    canvas.fill(circle(random() * 640, random() * 260, 0.8 + random() * 1.8), p.butter, { alpha: 0.8 })
  }
  canvas.fill(circle(712, 96, 84), p.butter, { alpha: 0.08 })
  canvas.fill(minus(circle(712, 96, 46), circle(734, 84, 41)), p.butter)
  for (const place of places('60 550 1.1, 740 550 1.16')) house(canvas.at(place), '#343252', '#2a2945', '#46446a')
  canvas.fill(box(140, 130, 520, 420), '#7b4a4c')
  canvas.fill(polygon('112 140, 400 40, 688 140'), '#5b3440')
  canvas.fill(circle(400, 104, 24), p.butter)
  for (const x of [214, 366, 518]) {
    canvas.fill(box(x - 6, 164, 80, 84, 8), '#5b3440')
    canvas.fill(box(x, 170, 68, 72, 5), x === 366 ? p.honey : '#4a3d5c')
    canvas.fill(box(x + 31, 170, 6, 72), '#5b3440')
  }
  bakersWindow(canvas)
  canvas.fill(box(508, 318, 116, 232, 8), p.cocoa)
  canvas.fill(box(524, 334, 84, 118, 6), p.honey)
  canvas.fill(circle(524, 480, 6), p.butter)
  awning(canvas, { left: 136, right: 664, top: 266, hem: 322, inset: 10, stripes: 11 })
  canvas.fill(box(0, 546, 800, 54), '#2a2740')
  canvas.fill(polygon('162 548, 458 548, 520 600, 100 600'), p.honey, { alpha: 0.4 })
  canvas.fill(polygon('524 548, 608 548, 640 600, 516 600'), p.honey, { alpha: 0.3 })
}
