import { type Canvas, createCanvas } from './drawing/canvas.ts'
import { hero } from './drawing/hero.ts'
import { encodePng } from './drawing/png.ts'
import { type Looks, looksOf, portrait } from './drawing/portraits.ts'
import * as kitchen from './drawing/scenes-kitchen.ts'
import * as outside from './drawing/scenes-outside.ts'
import * as shop from './drawing/scenes-shop.ts'

interface Picture {
  width: number
  height: number
  draw: (canvas: Canvas) => void
}

const scene = (draw: Picture['draw']): Picture => ({ width: 800, height: 600, draw })
const person = (looks: Looks): Picture => ({ width: 600, height: 600, draw: (canvas) => portrait(canvas, looks) })

const pictures = {
  logo: { width: 512, height: 512, draw: shop.logo },
  hero: { width: 1600, height: 900, draw: hero },
  'starter-jar': scene(kitchen.starterJar),
  'brick-oven': scene(kitchen.brickOven),
  lamination: scene(kitchen.lamination),
  'plum-tart': scene(kitchen.plumTart),
  breakfast: scene(kitchen.breakfast),
  'rye-slices': scene(kitchen.ryeSlices),
  'tray-of-buns': scene(kitchen.trayOfBuns),
  toasts: scene(kitchen.toasts),
  'mill-in-field': scene(outside.millInField),
  'market-stall': scene(outside.marketStall),
  'shop-at-night': scene(outside.shopAtNight),
  'sourdough-small': scene(shop.smallSourdough),
  'sourdough-large': scene(shop.largeSourdough),
  baguettes: scene(shop.baguettes),
  croissant: scene(shop.butterCroissant),
  'cinnamon-roll': scene(shop.roll),
  cookies: scene(shop.cookies),
  cake: scene(shop.berryCake),
  'espresso-small': scene(shop.smallEspresso),
  'espresso-large': scene(shop.largeEspresso),
  'gift-card': scene(shop.giftCards),
  'portrait-mara': person(looksOf.mara),
  'portrait-tobias': person(looksOf.tobias),
  'portrait-amina': person(looksOf.amina),
  'portrait-jun': person(looksOf.jun),
  'portrait-odile': person(looksOf.odile),
} satisfies Record<string, Picture>

export type PictureName = keyof typeof pictures
export const pictureNames = Object.keys(pictures) as PictureName[]

/** A PNG file, the same bytes every time. */
export function drawPicture(name: PictureName): Buffer {
  const { width, height, draw } = pictures[name]
  const canvas = createCanvas(width, height)
  draw(canvas)
  return encodePng(width, height, canvas.pixels)
}
