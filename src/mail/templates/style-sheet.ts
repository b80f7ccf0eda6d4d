import type { Palette } from '../colors.ts'

function darkRules(dark: Palette, scope: string): string {
  const rules: [string, string][] = [
    ['.page', `background-color:${dark.page}!important`],
    [
      '.box',
      `background-color:${dark.box}!important;border-color:${dark.border}!important;color:${dark.boxText}!important`,
    ],
    ['.box td, .box th, .box hr, .box blockquote, .line', `border-color:${dark.border}!important`],
    ['.box th, .box .muted', `color:${dark.boxMutedText}!important`],
    ['.box a', `color:${dark.boxLink}!important`],
    ['.text', `color:${dark.text}!important`],
    ['.muted', `color:${dark.mutedText}!important`],
    ['.muted a', `color:${dark.mutedText}!important`],
  ]
  const scoped = (selector: string): string =>
    selector
      .split(', ')
      .map((each) => `${scope}${each}`)
      .join(', ')
  return rules.map(([selector, style]) => `${scoped(selector)} { ${style} }`).join('\n')
}

/** What inline styles cannot express: narrow screens and dark mode. Outlook marks its own dark mode with `data-ogsc`. */
export function styleSheet(light: Palette, dark: Palette, width: number): string {
  return `:root { color-scheme: light dark; supported-color-schemes: light dark }
body { margin: 0; padding: 0; -webkit-text-size-adjust: 100% }
.box p:last-child, .box table:last-child, .box ul:last-child, .box ol:last-child { margin-bottom: 0 !important }
@media (max-width: ${width}px) {
.outer { padding: 28px 16px !important }
.box { padding: 24px 20px !important }
.title { font-size: 24px !important }
}
@media (prefers-color-scheme: dark) {
body { background-color: ${dark.page} !important }
.logo { background-color: ${light.page} !important; padding: 6px !important }
${darkRules(dark, '')}
}
${darkRules(dark, '[data-ogsc] ')}`
}
