import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { colorPattern } from '../../src/content/validate.ts'
import { darkPalette, lightPalette, type Palette } from '../../src/mail/colors.ts'

/** WCAG 2 contrast, implemented independently of the code under test. */
function luminance(color: string): number {
  assert.match(color, /^#[0-9a-f]{6}$/)
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return red * 0.2126 + green * 0.7152 + blue * 0.0722
}

function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

function assertReadable({ page, box, text, mutedText, link, boxText, boxMutedText, boxLink }: Palette): void {
  for (const color of [text, mutedText, link]) assert.ok(contrast(color, page) >= 4.5, `${color} on ${page}`)
  for (const color of [boxText, boxMutedText, boxLink]) assert.ok(contrast(color, box) >= 4.5, `${color} on ${box}`)
}

const number = (max: number) => fc.double({ min: 0, max, noNaN: true }).map((value) => value.toFixed(1))
const anyColor = fc
  .oneof(
    fc.constantFrom(3, 4, 6, 8).chain((digits) => fc.stringMatching(new RegExp(`^#[0-9a-f]{${digits}}$`))),
    fc.tuple(number(300), number(300), number(300)).map((parts) => `rgb(${parts.join(', ')})`),
    fc.tuple(number(100), number(100), number(100), number(1)).map(([r, g, b, a]) => `rgb(${r}% ${g}% ${b}% / ${a})`),
    fc.tuple(number(720), number(100), number(100)).map(([h, s, l]) => `hsl(${h}deg, ${s}%, ${l}%)`),
    fc.stringMatching(/^(rgb|hsl)a?\([0-9.,%/ deg]{3,40}\)$/),
  )
  .filter((color) => colorPattern.test(color))

describe('the colours of an e-mail', () => {
  it('are readable, whatever colours a site has, in light and dark mode', () => {
    const colors = fc.record({ primary: anyColor, surface: anyColor, 'text-primary': anyColor }, { requiredKeys: [] })
    fc.assert(
      fc.property(colors, (site) => {
        assertReadable(lightPalette(site))
        assertReadable(darkPalette(site))
      }),
      { numRuns: 2000 },
    )
  })

  it('are the site’s where these are readable', () => {
    const palette = lightPalette({ primary: '#a53a26', surface: '#fffaf0', 'text-primary': '#3a1d14' })
    assert.equal(palette.page, '#fffaf0')
    assert.equal(palette.box, '#ffffff')
    assert.equal(palette.accent, '#a53a26')
    assert.equal(palette.boxLink, '#a53a26')
    assert.equal(palette.text, '#3a1d14')
  })

  it('are accepted in every notation that a site may use', () => {
    const forms: [string, string][] = [
      ['#f00', '#ff0000'],
      ['#F00F', '#ff0000'],
      ['#ff000080', '#ff7f7f'],
      ['rgb(255, 0, 0)', '#ff0000'],
      ['rgba(255,0,0,0.5)', '#ff8080'],
      ['rgb(100% 0% 0%)', '#ff0000'],
      ['hsl(120, 100%, 25%)', '#008000'],
      ['hsl(240deg 100% 50%)', '#0000ff'],
      ['hsla(0, 0%, 0%, 50%)', '#808080'],
    ]
    for (const [written, accent] of forms) assert.equal(lightPalette({ primary: written }).accent, accent, written)
  })

  it('are the defaults when a site has none, or an invalid one', () => {
    const ours = lightPalette({})
    assert.deepEqual(lightPalette({ primary: 'rgb(,,,)', surface: 'hsl(1 2)' }), ours)
  })
})
