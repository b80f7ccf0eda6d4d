import type { SiteLook } from './site-look.ts'

/** Red, green and blue from 0 to 255. */
type Rgb = readonly [number, number, number]

/** The colours of an e-mail, as "#rrggbb". Every text colour has enough contrast with its background. */
export interface Palette {
  page: string
  box: string
  border: string
  /** For decoration only. */
  accent: string
  text: string
  mutedText: string
  link: string
  boxText: string
  boxMutedText: string
  boxLink: string
}

/** WCAG 2, level AA. */
const minContrast = 4.5

const white: Rgb = [255, 255, 255]
const black: Rgb = [0, 0, 0]
const fallback = { primary: '#3b5bdb', surface: '#f4f4f6', text: '#1f2328' }
const darkPage: Rgb = [20, 20, 23]
const darkBox: Rgb = [32, 32, 36]
const lightText: Rgb = [238, 238, 241]

const toHex = (color: Rgb): string => `#${color.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`

/** Interpolates: 0 is the first colour, 1 the second. */
function mix(one: Rgb, other: Rgb, share: number): Rgb {
  const part = (index: 0 | 1 | 2): number => Math.round(one[index] + (other[index] - one[index]) * share)
  return [part(0), part(1), part(2)]
}

function fromHex(digits: string): Rgb {
  const long = digits.length <= 4 ? digits.replace(/./g, '$&$&') : digits
  const part = (start: number): number => Number.parseInt(long.slice(start, start + 2), 16)
  const alpha = long.length === 8 ? part(6) / 255 : 1
  return mix(white, [part(0), part(2), part(4)], alpha)
}

const clamp = (value: number, max: number): number => Math.min(Math.max(value, 0), max)

function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
  const spread = saturation * Math.min(lightness, 1 - lightness)
  const part = (offset: number): number => {
    const sector = (offset + hue / 30) % 12
    return Math.round(255 * (lightness - spread * Math.max(-1, Math.min(sector - 3, 9 - sector, 1))))
  }
  return [part(0), part(8), part(4)]
}

/** Undefined for invalid arguments, such as "rgb(,,)". */
function fromFunction(name: string, inner: string): Rgb | undefined {
  const parts = inner.split(/[\s,/]+/).filter((part) => part !== '')
  const numbers = parts.map((part) => Number(part.replace(/(?:%|deg)$/, '')))
  const [one = Number.NaN, two = Number.NaN, three = Number.NaN, alpha = 1] = numbers
  if (parts.length > 4 || ![one, two, three, alpha].every(Number.isFinite)) return undefined
  const isPercent = (index: number): boolean => parts[index]?.endsWith('%') ?? false
  const channel = (value: number, index: number): number => clamp(isPercent(index) ? value * 2.55 : value, 255)
  const color: Rgb = name.startsWith('hsl')
    ? fromHsl(one % 360, clamp(two / 100, 1), clamp(three / 100, 1))
    : [channel(one, 0), channel(two, 1), channel(three, 2)]
  return mix(white, color, clamp(isPercent(3) ? alpha / 100 : alpha, 1))
}

/** Transparent colours are blended with white. */
function parseColor(text: string | undefined): Rgb | undefined {
  const [, digits, name, inner] = /^(?:#([0-9a-f]{3,8})|((?:rgb|hsl)a?)\(([^)]*)\))$/i.exec(text ?? '') ?? []
  if (digits !== undefined) return [3, 4, 6, 8].includes(digits.length) ? fromHex(digits) : undefined
  return name !== undefined && inner !== undefined ? fromFunction(name.toLowerCase(), inner) : undefined
}

function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: Rgb, other: Rgb): number {
  const [lower = 0, higher = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (higher + 0.05) / (lower + 0.05)
}

/** The colour, made darker or lighter until it has enough contrast: black or white has it on any background. */
function readable(color: Rgb, background: Rgb): Rgb {
  const end = contrast(black, background) > contrast(white, background) ? black : white
  for (let share = 0; share < 1; share += 0.05) {
    const candidate = mix(color, end, share)
    if (contrast(candidate, background) >= minContrast) return candidate
  }
  return end
}

function createPalette({
  page,
  box,
  primary,
  text: wanted,
}: Record<'page' | 'box' | 'primary' | 'text', Rgb>): Palette {
  const text = readable(wanted, page)
  const boxText = readable(wanted, box)
  return {
    page: toHex(page),
    box: toHex(box),
    border: toHex(mix(box, boxText, 0.14)),
    accent: toHex(primary),
    text: toHex(text),
    mutedText: toHex(readable(mix(text, page, 0.35), page)),
    link: toHex(readable(primary, page)),
    boxText: toHex(boxText),
    boxMutedText: toHex(readable(mix(boxText, box, 0.35), box)),
    boxLink: toHex(readable(primary, box)),
  }
}

const parsed = (text: string | undefined, otherwise: string): Rgb => parseColor(text) ?? (parseColor(otherwise) as Rgb) // ours are valid

/** The site's own colours around a white box. */
export const lightPalette = (colors: SiteLook['colors']): Palette =>
  createPalette({
    page: parsed(colors.surface, fallback.surface),
    box: white,
    primary: parsed(colors.primary, fallback.primary),
    text: parsed(colors['text-primary'], fallback.text),
  })

/** Near black with a tint of the site's primary colour. */
export function darkPalette(colors: SiteLook['colors']): Palette {
  const primary = parsed(colors.primary, fallback.primary)
  const [page, box] = [darkPage, darkBox].map((color) => mix(color, primary, 0.05)) as [Rgb, Rgb]
  return createPalette({ page, box, primary, text: lightText })
}
