import { type Canvas, fade } from './canvas.ts'
import { palette as p } from './palette.ts'
import { blob, curve, line, pointsOf, polygon } from './paths.ts'
import { box, circle, ellipse, minus, outline, type Shape, union } from './shapes.ts'

export interface Looks {
  wall: string
  glow: string
  skin: string
  cheek: string
  hair: string
  style: 'bun' | 'short' | 'curls' | 'long'
  shirt: string
  apron: string
  hat?: 'toque' | 'scarf' | 'cap'
  hatColor?: string
  beard?: boolean
  glasses?: boolean
}

/** Everything of a head is drawn around its middle; the chin is at 100. */
const face = blob('-82 -30, -60 -96, 0 -112, 60 -96, 82 -30, 70 46, 36 92, 0 104, -36 92, -70 46')

function hairBehind({ style }: Looks): Shape | undefined {
  if (style === 'long') return blob('-102 -40, -70 -122, 0 -140, 70 -122, 102 -40, 112 90, 96 170, -96 170, -112 90')
  if (style === 'bun') return union(circle(0, -150, 46), ellipse(0, -42, 94, 92))
  if (style !== 'curls') return undefined
  const locks = Array.from({ length: 13 }, (_, step) => {
    const angle = Math.PI * (0.86 + (step / 12) * 1.28)
    return circle(Math.cos(angle) * 92, -22 + Math.sin(angle) * 92, 42)
  })
  return union(...locks, circle(0, -40, 96))
}

function hairInFront({ style }: Looks): Shape {
  if (style === 'short') {
    return blob('-92 -10, -92 -78, -54 -126, 10 -136, 72 -112, 94 -58, 90 -8, 76 -46, 40 -76, -30 -70, -74 -46')
  }
  if (style === 'curls') return union(...[-64, -26, 14, 54].map((x) => circle(x, -96 + Math.abs(x) * 0.22, 31)))
  return blob('-92 4, -90 -66, -50 -120, 0 -130, 50 -120, 90 -66, 92 4, 70 -44, 16 -92, -26 -62, -72 -30')
}

function drawHat(head: Canvas, hat: Looks['hat'], color: string): void {
  if (hat === 'toque') {
    head.fill(union(circle(-56, -178, 46), circle(0, -190, 56), circle(56, -178, 46), box(-78, -176, 156, 80)), color)
    head.fill(box(-86, -142, 172, 54, 12), color)
    head.fill(box(-86, -146, 172, 6, 3), p.bark, { alpha: 0.18 })
    for (const x of [-36, 4, 42]) head.fill(line(5, `${x} -154, ${x * 1.15} -190`), p.bark, { alpha: 0.13 })
  } else if (hat === 'scarf') {
    head.fill(union(blob('70 -96, 124 -128, 134 -96'), blob('72 -88, 130 -74, 116 -48')), color)
    const cloth = blob('-92 -54, -84 -100, -44 -132, 4 -140, 56 -128, 90 -90, 92 -58, 40 -84, -34 -84')
    head.fill(cloth, color)
    for (const [x, y] of pointsOf('-58 -92, -20 -112, 24 -110, 62 -94, 0 -92')) {
      head.inside(cloth).fill(circle(x, y, 6), p.flour, { alpha: 0.9 })
    }
  } else if (hat === 'cap') {
    head.fill(blob('-92 -62, -84 -116, -30 -150, 40 -148, 92 -104, 92 -66, 0 -82'), color)
    head.fill(blob('-104 -64, 0 -98, 104 -64, 60 -64, 0 -74, -60 -64'), p.bark)
  }
}

function drawFace(head: Canvas, looks: Looks): void {
  const { skin, cheek, hair } = looks
  for (const side of [-1, 1]) head.fill(ellipse(side * 83, -2, 15, 22), skin)
  head.fill(face, skin)
  if (looks.beard) {
    const jaw = blob('-82 -6, -66 24, -30 30, 0 26, 30 30, 66 24, 82 -6, 74 60, 40 108, 0 120, -40 108, -74 60')
    head.fill(jaw, hair)
  }
  for (const side of [-1, 1]) {
    head.fill(ellipse(side * 46, 26, 20, 14), cheek, { alpha: looks.beard ? 0.35 : 0.75, soft: 9 })
    head.fill(ellipse(side * 33, -8, 7.5, 9.5), p.ink)
    head.fill(circle(side * 33 + 3, -12, 2.6), p.flour)
    head.fill(curve(7, `${side * 50} -30, ${side * 34} -40, ${side * 19} -38`), hair)
    if (looks.glasses) head.fill(outline(circle(side * 34, -7, 25), 5), p.bark)
  }
  if (looks.glasses) head.fill(curve(5, '-9 -9, 0 -13, 9 -9'), p.bark)
  head.fill(curve(5, '-2 2, 7 20, -3 25'), cheek)
  const smile = minus(ellipse(0, 46, 31, 25), box(-40, 10, 80, 38))
  head.fill(smile, p.brick)
  head.inside(smile).fill(box(-22, 44, 44, 11, 4), p.flour)
}

/** Head and shoulders of one of the team, for a picture of 600 × 600. */
export function portrait(canvas: Canvas, looks: Looks): void {
  const { wall, glow, skin, hair, shirt, apron, hat, hatColor = p.flour } = looks
  canvas.fill(box(0, 0, 600, 600), wall)
  canvas.fill(circle(300, 318, 248), glow)
  const body = canvas.at({ x: 300, y: hat === 'toque' ? 354 : 324 })
  const head = body.at({ x: 0, y: -48, scale: 1.12 })
  const behind = hairBehind(looks)
  if (behind) head.fill(behind, hair)
  const shoulders = blob('-212 320, -196 200, -110 146, 0 132, 110 146, 196 200, 212 320, 0 360')
  body.fill(shoulders, shirt)
  const chest = body.inside(shoulders)
  for (const flip of [false, true])
    chest.at({ x: 0, y: 0, flip }).fill(polygon('84 120, 112 120, 98 214, 66 214'), apron)
  chest.fill(box(-106, 208, 212, 150, 16), fade(apron, p.bark, 208, 640))
  chest.fill(line(4, '-92 222, 92 222'), p.flour, { alpha: 0.4 })
  const neck = union(box(-42, 30, 84, 110), ellipse(0, 142, 60, 32))
  body.fill(neck, skin)
  body.inside(neck).fill(box(-60, 20, 120, 66, 30), p.bark, { alpha: 0.22, soft: 12 })
  drawFace(head, looks)
  head.fill(hairInFront(looks), hair)
  drawHat(head, hat, hatColor)
}

/** The people of the bakery, by first name. */
// biome-ignore format: two lines a person
export const looksOf = {
  mara: { wall: p.peach, glow: p.apricot, skin: '#f0c19c', cheek: '#e08a72', hair: '#7a3b1e', style: 'bun',
    shirt: p.flour, apron: p.terracotta, hat: 'scarf', hatColor: p.terracotta },
  tobias: { wall: p.mist, glow: p.sage, skin: '#f2cba8', cheek: '#df8f74', hair: '#b5682c', style: 'short',
    shirt: p.cream, apron: p.forest, hat: 'toque', beard: true },
  amina: { wall: p.butter, glow: p.honey, skin: '#8d5534', cheek: '#b5583f', hair: '#2a1710', style: 'curls',
    shirt: p.blush, apron: p.berry },
  jun: { wall: p.blush, glow: p.rose, skin: '#ecc294', cheek: '#dc8368', hair: '#2b1d1a', style: 'short',
    shirt: p.mist, apron: p.teal, hat: 'cap', hatColor: p.teal, glasses: true },
  odile: { wall: p.oat, glow: '#d6b98a', skin: '#f3cdb0', cheek: '#e0907c', hair: '#c9c2b8', style: 'long',
    shirt: p.plum, apron: p.cream, glasses: true },
} satisfies Record<string, Looks>
