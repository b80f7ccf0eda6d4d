import { palette as p } from './bakes.ts'
import { type Canvas, createCanvas } from './canvas.ts'
import { encodePng } from './png.ts'
import { type Looks, portrait } from './portraits.ts'
import { brickOven, lamination, marketStall, millInField, plumTart, starterJar } from './scenes.ts'
import { breakfast, logo, products, ryeSlices, shopAtNight, toasts, trayOfBuns } from './tables.ts'

interface Picture {
  width: number
  height: number
  draw: (canvas: Canvas) => void
}

const scene = (draw: Picture['draw']): Picture => ({ width: 800, height: 600, draw })
const person = (looks: Looks): Picture => ({ width: 600, height: 600, draw: (canvas) => portrait(canvas, looks) })

const pictures = {
  logo: { width: 512, height: 512, draw: logo },
  'starter-jar': scene(starterJar),
  'brick-oven': scene(brickOven),
  'mill-in-field': scene(millInField),
  'market-stall': scene(marketStall),
  lamination: scene(lamination),
  'plum-tart': scene(plumTart),
  breakfast: scene(breakfast),
  'rye-slices': scene(ryeSlices),
  'shop-at-night': scene(shopAtNight),
  'tray-of-buns': scene(trayOfBuns),
  toasts: scene(toasts),
  'sourdough-small': scene(products.sourdoughSmall),
  'sourdough-large': scene(products.sourdoughLarge),
  baguette: scene(products.baguette),
  croissant: scene(products.croissant),
  'cinnamon-roll': scene(products.cinnamonRoll),
  cookies: scene(products.cookies),
  cake: scene(products.cake),
  'espresso-small': scene(products.espressoSmall),
  'espresso-large': scene(products.espressoLarge),
  'gift-card': scene(products.giftCard),
  'portrait-mara': person({
    wall: p.peach,
    glow: p.apricot,
    skin: '#f0c19c',
    cheek: '#e08a72',
    hair: '#7a3b1e',
    style: 'bun',
    shirt: p.flour,
    apron: p.terracotta,
    hat: 'scarf',
    hatColor: p.terracotta,
  }),
  'portrait-tobias': person({
    wall: p.mist,
    glow: p.sage,
    skin: '#f2cba8',
    cheek: '#df8f74',
    hair: '#b5682c',
    style: 'short',
    shirt: p.cream,
    apron: p.forest,
    hat: 'toque',
    beard: true,
  }),
  'portrait-amina': person({
    wall: p.butter,
    glow: p.honey,
    skin: '#8d5534',
    cheek: '#b5583f',
    hair: '#2a1710',
    style: 'curls',
    shirt: p.blush,
    apron: p.berry,
  }),
  'portrait-jun': person({
    wall: p.blush,
    glow: p.rose,
    skin: '#ecc294',
    cheek: '#dc8368',
    hair: '#2b1d1a',
    style: 'short',
    shirt: p.mist,
    apron: p.teal,
    glasses: true,
    hat: 'cap',
    hatColor: p.teal,
  }),
  'portrait-odile': person({
    wall: '#e9dcc3',
    glow: '#d6b98a',
    skin: '#f3cdb0',
    cheek: '#e0907c',
    hair: '#c9c2b8',
    style: 'long',
    shirt: p.plum,
    apron: p.cream,
    glasses: true,
  }),
} satisfies Record<string, Picture>

export type PictureName = keyof typeof pictures
export const pictureNames = Object.keys(pictures) as PictureName[]

export function drawPicture(name: PictureName): Buffer {
  const { width, height, draw } = pictures[name]
  const canvas = createCanvas(width, height)
  draw(canvas)
  return encodePng(width, height, canvas.pixels)
}
