import {baguette, 
  baked, bean, boule, cake, cinnamonRoll, coffeeBag, cookie, croissant, cut, giftCard, palette as p, shadow, wheat,
} from './bakes.ts' // biome-ignore format: a list of things to draw
import { type Canvas, fade, gradient, seeded } from './canvas.ts'
import { stage, steam } from './scenes.ts'
import { blob, box, circle, curve, ellipse, grown, line, minus, outline, type Point, polygon } from './shapes.ts'

/** A cup of coffee, 220 wide; the origin is the middle of the cup. */
export function coffeeCup(canvas: Canvas, color: string = p.terracotta): void {
  canvas.fill(ellipse(0, 92, 190, 30), p.flour)
  canvas.fill(ellipse(0, 88, 120, 16), p.bark, { alpha: 0.16, soft: 8 })
  canvas.fill(minus(ellipse(118, 6, 54, 48), ellipse(118, 6, 30, 26)), color)
  const cup = blob([-118, -66], [0, -62], [118, -66], [108, 20], [62, 84], [0, 94], [-62, 84], [-108, 20])
  const body = baked(canvas, cup, color, p.ink)
  body.fill(ellipse(-66, 0, 16, 56), p.flour, { alpha: 0.35, soft: 10 })
  canvas.fill(ellipse(0, -66, 119, 26), p.flour)
  canvas.fill(ellipse(0, -64, 106, 20), p.cocoa)
  canvas.inside(ellipse(0, -64, 106, 20)).fill(ellipse(-6, -62, 62, 11), p.crust, { alpha: 0.8, soft: 6 })
  steam(canvas.at({ x: 0, y: -96 }))
}

/** Saturday morning: a cup and a croissant. */
export function breakfast(canvas: Canvas): void {
  stage(canvas, p.peach, p.apricot, '#f7e3c3')
  shadow(canvas, 256, 492, 400)
  coffeeCup(canvas.at({ x: 250, y: 384 }))
  shadow(canvas, 566, 510, 360)
  canvas.fill(ellipse(566, 500, 206, 34), p.flour)
  canvas.fill(ellipse(566, 496, 170, 24), p.mist)
  croissant(canvas.at({ x: 566, y: 404, scale: 0.9, turn: -4 }))
}

/** A dark loaf with slices cut from it. */
export function ryeSlices(canvas: Canvas): void {
  stage(canvas, p.mist, '#c9d6bf', '#caa06a')
  canvas.fill(box(70, 456, 660, 74, 22), p.bark, { alpha: 0.3, soft: 14 })
  canvas.fill(box(80, 440, 640, 70, 20), fade('#dba763', p.crust, 440, 520))
  canvas.fill(line(4, [110, 476], [560, 478]), p.brown, { alpha: 0.35 })
  canvas.fill(circle(686, 475, 13), p.brown)
  const loaf = blob(
    [130, 440],
    [118, 340],
    [150, 268],
    [230, 240],
    [360, 236],
    [452, 262],
    [480, 340],
    [476, 440],
    [300, 446],
  )
  const crust = baked(canvas, loaf, fade('#8a5230', '#4e2917', 236, 446), p.ink)
  crust.fill(ellipse(260, 268, 110, 22), p.honey, { alpha: 0.35, soft: 22 })
  for (const x of [200, 276, 352]) cut(crust, [x - 30, 300], [x + 44, 252], 20)
  for (const [x, lean] of [
    [486, 0],
    [556, 8],
    [630, 17],
  ] as Point[]) {
    const slice = canvas.at({ x, y: 440, turn: lean })
    const shape = blob([-66, 0], [-78, -96], [-60, -172], [0, -192], [60, -172], [78, -96], [66, 0], [0, 4])
    slice.fill(grown(shape, 8), '#5a3019')
    slice.fill(shape, gradient('#b98151', '#96603a', -60, -180, 60, 10))
    const random = seeded(x)
    for (let hole = 0; hole < 40; hole += 1) {
      const at: Point = [(random() - 0.5) * 116, -18 - random() * 150]
      slice
        .inside(grown(shape, -8))
        .fill(ellipse(...at, 2 + random() * 5, 1.5 + random() * 3), hole % 4 ? '#7a4826' : p.butter)
    }
  }
}

/** The shop before dawn: only the bakers' window is lit. */
export function shopAtNight(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), fade('#252a47', '#4d4468', 0, 520))
  const random = seeded(44)
  for (let star = 0; star < 60; star += 1)
    canvas.fill(circle(random() * 800, random() * 260, 0.8 + random() * 1.8), p.butter, { alpha: 0.8 })
  canvas.fill(circle(660, 100, 110), p.butter, { alpha: 0.08 })
  canvas.fill(minus(circle(660, 100, 52), circle(684, 88, 46)), p.butter)
  for (const [x, width, top] of [
    [-20, 170, 230],
    [640, 190, 200],
  ] as const) {
    canvas.fill(box(x, top, width, 340), '#343252')
    canvas.fill(polygon([x - 14, top], [x + width / 2, top - 64], [x + width + 14, top]), '#2a2945')
    for (const wx of [36, 100]) for (const wy of [44, 130]) canvas.fill(box(x + wx, top + wy, 40, 56, 5), '#46446a')
  }
  canvas.fill(box(140, 130, 520, 420), '#7b4a4c')
  canvas.fill(polygon([112, 140], [400, 40], [688, 140]), '#5b3440')
  canvas.fill(circle(400, 104, 24), p.butter)
  for (const x of [214, 366, 518]) {
    canvas.fill(box(x - 6, 164, 80, 84, 8), '#5b3440')
    canvas.fill(box(x, 170, 68, 72, 5), x === 366 ? p.honey : '#4a3d5c')
    canvas.fill(box(x + 31, 170, 6, 72), '#5b3440')
  }
  canvas.fill(box(150, 318, 320, 206, 8), '#4a2a33')
  const pane = canvas.inside(box(162, 330, 296, 182, 4))
  pane.fill(box(162, 330, 296, 182), fade(p.butter, p.honey, 330, 540))
  pane.fill(box(162, 424, 296, 8), p.brown)
  for (const x of [206, 278, 350, 420]) boule(pane.at({ x, y: 400, scale: 0.19 }))
  for (const [x, turn] of [
    [196, 82],
    [226, 95],
    [256, 86],
  ] as Point[])
    baguette(pane.at({ x, y: 486, scale: 0.19, turn }))
  pane.fill(polygon([172, 480], [282, 480], [270, 530], [184, 530]), p.crust)
  const baker = pane.at({ x: 366, y: 506, scale: 0.78 })
  baker.fill(blob([-62, 40], [-50, -18], [0, -34], [50, -18], [62, 40]), p.flour)
  baker.fill(circle(0, -58, 27), p.apricot)
  baker.fill(blob([-28, -70], [-36, -104], [0, -116], [36, -104], [28, -70], [0, -76]), p.flour)
  canvas.fill(box(304, 330, 8, 182), '#4a2a33')
  canvas.fill(box(508, 318, 116, 232, 8), '#4a2a33')
  canvas.fill(box(524, 334, 84, 118, 6), p.honey)
  canvas.fill(circle(524, 480, 6), p.butter)
  for (let stripe = 0; stripe < 10; stripe += 1) {
    canvas.fill(grown(box(146 + stripe * 51, 272, 45, 52, 3), 3), stripe % 2 ? p.blush : p.terracotta)
    canvas.fill(circle(168.5 + stripe * 51, 324, 25), stripe % 2 ? p.blush : p.terracotta)
  }
  canvas.fill(box(0, 546, 800, 54), '#2a2740')
  canvas.fill(polygon([162, 548], [458, 548], [520, 600], [100, 600]), p.honey, { alpha: 0.4 })
  canvas.fill(polygon([524, 548], [608, 548], [640, 600], [516, 600]), p.honey, { alpha: 0.3 })
}

/** A tray of buns, straight from the oven. */
export function trayOfBuns(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), p.teal)
  for (let row = 0; row < 8; row += 1) {
    for (let dot = 0; dot < 10; dot += 1)
      canvas.fill(circle(dot * 90 + (row % 2) * 45, row * 86, 5), p.mist, { alpha: 0.25 })
  }
  canvas.fill(box(76, 66, 660, 500, 40), p.ink, { alpha: 0.35, soft: 18 })
  canvas.fill(box(70, 50, 660, 500, 40), '#8c7f78')
  canvas.fill(box(84, 64, 632, 472, 30), '#b3a59b')
  canvas.fill(polygon([104, 92], [702, 78], [694, 520], [98, 512]), p.cream)
  for (const y of [196, 402])
    for (const x of [210, 400, 590]) cinnamonRoll(canvas.at({ x, y, scale: 0.62, turn: ((x * y) % 50) - 25 }))
}

/** Yesterday's bread, toasted, with tomatoes. */
export function toasts(canvas: Canvas): void {
  canvas.fill(box(0, 0, 800, 600), p.butter)
  canvas.fill(circle(400, 300, 280), p.honey, { alpha: 0.35 })
  canvas.fill(box(92, 112, 640, 420, 60), p.bark, { alpha: 0.26, soft: 18 })
  canvas.fill(box(80, 90, 640, 420, 60), gradient('#d9a566', p.crust, 80, 90, 720, 520))
  for (const y of [170, 250, 344, 430])
    canvas.fill(curve(4, [110, y], [300, y + 12], [520, y - 10], [690, y + 4]), p.brown, { alpha: 0.22 })
  const random = seeded(9)
  for (const [x, y, turn] of [
    [250, 236, -14],
    [548, 222, 10],
    [396, 396, -2],
  ] as const) {
    const toast = canvas.at({ x, y, turn, scale: 1.05 })
    const shape = blob([-110, 60], [-128, -14], [-96, -72], [0, -84], [96, -72], [128, -14], [110, 60], [0, 74])
    toast.fill(ellipse(4, 12, 128, 80), p.bark, { alpha: 0.35, soft: 14 })
    toast.fill(grown(shape, 7), p.brown)
    toast.fill(shape, gradient('#f4d39a', p.gold, -90, -80, 100, 80))
    for (let half = 0; half < 7; half += 1) {
      const part = toast.at({
        x: -78 + (half % 4) * 50 + (half > 3 ? 26 : 0),
        y: half > 3 ? 32 : -26,
        turn: random() * 180,
      })
      part.fill(circle(0, 0, 27), p.brick)
      part.fill(circle(0, 0, 22), '#dd6a4a')
      for (const seed of [0, 120, 240]) part.at({ x: 0, y: 0, turn: seed }).fill(ellipse(0, -11, 5, 8), p.butter)
    }
    for (let leaf = 0; leaf < 4; leaf += 1) {
      const part = toast.at({ x: -74 + leaf * 50, y: (random() - 0.5) * 76, turn: random() * 360 })
      part.fill(blob([-22, 0], [0, -12], [24, 0], [0, 12]), p.forest)
      part.fill(line(2, [-16, 0], [18, 0]), p.sage)
    }
  }
}

type Product = (canvas: Canvas) => void

export const products = {
  sourdoughSmall: (canvas) => {
    stage(canvas, p.peach, p.apricot, '#f3d9b2')
    shadow(canvas, 400, 500, 330)
    boule(canvas.at({ x: 400, y: 424, scale: 0.86 }))
  },
  sourdoughLarge: (canvas) => {
    stage(canvas, p.peach, p.apricot, '#f3d9b2')
    shadow(canvas, 400, 512, 520)
    boule(canvas.at({ x: 400, y: 380, scale: 1.42 }))
  },
  baguette: (canvas) => {
    stage(canvas, p.butter, p.honey, '#eccb93')
    shadow(canvas, 400, 506, 560)
    baguette(canvas.at({ x: 392, y: 300, scale: 1.12, turn: -38 }))
    baguette(canvas.at({ x: 408, y: 340, scale: 1.12, turn: -22 }))
    baguette(canvas.at({ x: 400, y: 450, scale: 1.12, turn: -2 }))
  },
  croissant: (canvas) => {
    stage(canvas, p.blush, p.rose, '#f7e0cd')
    shadow(canvas, 400, 500, 470)
    croissant(canvas.at({ x: 400, y: 356, scale: 1.3 }))
  },
  cinnamonRoll: (canvas) => {
    stage(canvas, p.mist, p.sage, '#efe0c4')
    shadow(canvas, 400, 524, 430)
    canvas.fill(ellipse(400, 506, 260, 40), p.flour)
    canvas.fill(ellipse(400, 500, 222, 28), p.mist)
    cinnamonRoll(canvas.at({ x: 400, y: 352, scale: 1.16 }))
  },
  cookies: (canvas) => {
    stage(canvas, '#f3d3b0', p.crust, '#f3dfc0')
    shadow(canvas, 400, 512, 560)
    cookie(canvas.at({ x: 280, y: 366, scale: 1.05 }), 3)
    cookie(canvas.at({ x: 532, y: 348, scale: 1.12 }), 11)
    cookie(canvas.at({ x: 410, y: 412, scale: 0.92 }), 27)
  },
  cake: (canvas) => {
    stage(canvas, p.blush, '#f2b9ac', '#f9e6d6')
    shadow(canvas, 400, 526, 300)
    cake(canvas.at({ x: 400, y: 400, scale: 0.94 }))
  },
  espressoSmall: (canvas) => coffee(canvas, 0.82, 5),
  espressoLarge: (canvas) => coffee(canvas, 1.12, 11),
  giftCard: (canvas) => {
    stage(canvas, p.butter, p.apricot, '#f3d9b2')
    shadow(canvas, 400, 506, 500)
    const envelope = canvas.at({ x: 430, y: 330, turn: 7 })
    envelope.fill(box(-220, -138, 440, 276, 14), p.cream)
    envelope.fill(polygon([-214, -134], [214, -134], [0, 40]), p.peach)
    envelope.fill(line(3, [-214, -134], [0, 40], [214, -134]), p.gold, { alpha: 0.5 })
    const card = canvas.at({ x: 384, y: 350, turn: -7 })
    card.fill(box(-216, -126, 440, 276, 26), p.bark, { alpha: 0.3, soft: 14 })
    giftCard(card)
  },
} satisfies Record<string, Product>

function coffee(canvas: Canvas, scale: number, beans: number): void {
  stage(canvas, '#e9dcc3', '#d6b98a', '#f0dcb8')
  shadow(canvas, 400, 508, 330 * scale)
  coffeeBag(canvas.at({ x: 400, y: 506 - 200 * scale, scale }))
  const random = seeded(beans)
  for (let place = 0; place < beans; place += 1) {
    const side = place % 2 === 0 ? -1 : 1
    const x = 400 + side * (160 * scale + 20 + random() * 130)
    const at = { x, y: 506 + random() * 46, turn: random() * 180, scale: 0.72 }
    shadow(canvas, at.x, at.y + 18, 52, 7)
    bean(canvas.at(at))
  }
}

/** The mark of the house: a loaf and two ears of wheat in a seal. 512 × 512. */
export function logo(canvas: Canvas): void {
  canvas.fill(box(0, 0, 512, 512), p.cream)
  canvas.fill(circle(256, 256, 236), p.terracotta)
  canvas.fill(outline(circle(256, 256, 214), 5), p.butter)
  for (const flip of [false, true]) {
    for (let grain = 0; grain < 7; grain += 1) {
      const angle = ((flip ? 90 + 18 + grain * 13 : 90 - 18 - grain * 13) * Math.PI) / 180
      const at = canvas.at({
        x: 256 + Math.cos(angle) * 178,
        y: 256 + Math.sin(angle) * 178,
        turn: (angle * 180) / Math.PI + (flip ? 90 : -90),
        flip,
      })
      at.fill(blob([-4, 0], [10, -16], [34, -22], [24, -4]), p.butter)
      at.fill(blob([-4, 4], [10, 18], [34, 20], [22, 4]), p.honey)
    }
  }
  for (const [x, height] of [
    [-56, 74],
    [0, 96],
    [56, 74],
  ] as Point[]) {
    canvas.fill(
      curve(
        13,
        [256 + x, 170],
        [246 + x, 170 - height * 0.35],
        [266 + x, 170 - height * 0.65],
        [256 + x, 170 - height],
      ),
      p.butter,
    )
  }
  const loaf = blob(
    [118, 290],
    [126, 232],
    [172, 196],
    [256, 186],
    [340, 196],
    [386, 232],
    [394, 290],
    [370, 330],
    [256, 338],
    [142, 330],
  )
  canvas.fill(loaf, p.cream)
  for (const x of [186, 256, 326])
    canvas.inside(loaf).fill(curve(15, [x - 26, 306], [x - 8, 256], [x + 28, 214]), p.terracotta)
}

export const hero: Product = (canvas) => wheat(canvas, p.gold)
