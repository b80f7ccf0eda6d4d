import { baguette, boule, cake, cinnamonRoll, croissant, shadow } from './bakes.ts'
import { type Canvas, fade } from './canvas.ts'
import { awning, basket, coffeeCup, windmill } from './goods.ts'
import { palette as p } from './palette.ts'
import { blob, curve, places } from './paths.ts'
import { cloud, wheatRow } from './scenes-outside.ts'
import { box, circle, ellipse } from './shapes.ts'

/** The land at sunrise, as the bakers see it from the counter. */
function view(canvas: Canvas): void {
  canvas.fill(box(0, 0, 1600, 900), fade('#fdf0d2', '#f3a877', 60, 640))
  canvas.fill(circle(560, 450, 300), p.flour, { alpha: 0.18 })
  canvas.fill(circle(560, 450, 220), p.flour, { alpha: 0.28 })
  canvas.fill(circle(560, 450, 146), p.flour)
  for (const place of places('170 300 1.3, 830 250 1.1, 1250 330 1.5, 420 230 0.8')) cloud(canvas.at(place))
  canvas.fill(blob('-100 560, 160 500, 420 540, 700 505, 980 545, 1300 490, 1700 540, 1700 900, -100 900'), '#d3b48c')
  canvas.fill(blob('-100 620, 200 545, 500 590, 900 560, 1250 600, 1700 560, 1700 900, -100 900'), p.sage)
  windmill(canvas.at({ x: 132, y: 584, scale: 0.62 }))
  canvas.fill(blob('-100 640, 300 600, 760 640, 1150 605, 1700 640, 1700 900, -100 900'), p.leaf)
  canvas.fill(blob('-100 690, 400 640, 900 672, 1700 650, 1700 900, -100 900'), p.honey)
  wheatRow(canvas, 760, 0.42, 1600, p.gold, p.gold)
  wheatRow(canvas, 800, 0.5, 1600, p.butter, p.honey)
}

function counter(canvas: Canvas): void {
  canvas.fill(box(0, 742, 1600, 158), fade(p.crust, '#7d4420', 742, 900))
  canvas.fill(box(0, 742, 1600, 12), p.honey)
  for (const y of [790, 838, 872]) {
    const grain = `-20 ${y}, 300 ${y + 7}, 620 ${y - 5}, 980 ${y + 6}, 1300 ${y - 4}, 1620 ${y + 3}`
    canvas.fill(curve(4, grain), p.bark, { alpha: 0.28 })
  }
}

/** The awning in the sun, and lights on a string below it. */
function frame(canvas: Canvas): void {
  const string = '0 170, 200 214, 400 176, 600 216, 800 178, 1000 216, 1200 176, 1400 214, 1600 170'
  canvas.fill(curve(4, string), p.bark)
  for (const place of places(
    '100 200, 200 216, 300 202, 500 204, 600 218, 700 205, 900 205, 1000 218, 1100 204, 1300 202, 1400 216, 1500 200',
  )) {
    const bulb = canvas.at(place)
    bulb.fill(circle(0, 22, 30), p.butter, { alpha: 0.45, soft: 18 })
    bulb.fill(box(-6, -2, 12, 14, 4), p.bark)
    bulb.fill(ellipse(0, 23, 11, 14), p.flour)
  }
  awning(canvas, { left: -30, right: 1630, top: -40, hem: 104, inset: -40, stripes: 17 })
  canvas.fill(box(0, 0, 1600, 20), p.bark, { alpha: 0.12, soft: 18 })
}

/** The whole counter in the morning: calm on the left, where a headline may go. 1600 × 900. */
export function hero(canvas: Canvas): void {
  view(canvas)
  counter(canvas)
  frame(canvas)
  for (const place of places('1352 520 0.74 -98, 1462 520 0.74 -82, 1408 500 0.78 -90')) baguette(canvas.at(place))
  shadow(canvas, 1408, 780, 330)
  basket(canvas.at({ x: 1408, y: 590, scale: 1.24 }))
  shadow(canvas, 880, 776, 260)
  cake(canvas.at({ x: 880, y: 662, scale: 0.84 }))
  shadow(canvas, 1150, 802, 400)
  boule(canvas.at({ x: 1150, y: 712, scale: 1.02 }))
  shadow(canvas, 648, 812, 320)
  croissant(canvas.at({ x: 648, y: 734, scale: 0.74, turn: -3 }))
  shadow(canvas, 322, 818, 380)
  coffeeCup(canvas.at({ x: 322, y: 726, scale: 0.86 }))
  shadow(canvas, 1390, 856, 240)
  cinnamonRoll(canvas.at({ x: 1390, y: 766, scale: 0.64 }), 0.5)
}
