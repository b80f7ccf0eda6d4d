import { escapeHtml, textToMarkup } from '../../content/escape-html.ts'
import { darkPalette, lightPalette, type Palette } from '../colors.ts'
import type { SiteLook } from '../site-look.ts'
import { styleSheet } from './style-sheet.ts'

/** The parts of every e-mail. Only the boxes are markup. */
export interface Page {
  /** Shown by inboxes after the subject. */
  preview: string
  title: string
  subtitle: string | undefined
  boxes: string[]
  /** Below the boxes. */
  note: string | undefined
  signature: string | undefined
}

const fonts = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
const width = 600
/** Long words must not make the e-mail wider than the screen. */
const anyBreak = 'overflow-wrap:anywhere;word-break:break-word'
const tableAttributes = 'role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"'
/** Keeps the text that follows out of the preview. */
const previewFill = '&#8199;&#847;'.repeat(60)

/** For text in an unknown language. */
export const anyLanguage = 'lang="" dir="auto"'

function header({ name, logo }: SiteLook, { text }: Palette): string {
  const font = `font-size:20px;line-height:1.3;font-weight:700;color:${text}`
  if (!logo) return `<div class="text" ${anyLanguage} style="${font}">${escapeHtml(name)}</div>`
  const size = `width="${logo.width}" height="${logo.height}"`
  const style = `display:block;border:0;border-radius:8px;outline:none;width:${logo.width}px;height:${logo.height}px`
  return `<img class="logo" src="cid:logo" ${size} alt="${escapeHtml(name)}" style="${style};${font}">`
}

function stripe({ accent }: Palette): string {
  const style = `width:44px;height:4px;border-radius:2px;font-size:4px;line-height:4px;background-color:${accent}`
  return `<div style="${style}">&nbsp;</div>`
}

function footer({ name, domainName }: SiteLook, { mutedText }: Palette): string {
  const domain = escapeHtml(domainName)
  const attributes = `href="https://${domain}" target="_blank" rel="noopener noreferrer"`
  const link = `<a ${attributes} style="color:${mutedText};text-decoration:underline">${domain}</a>`
  return `<span ${anyLanguage}>${escapeHtml(name)}</span>${domainName === '' ? '' : ` &nbsp;·&nbsp; ${link}`}`
}

const row = (style: string, content: string): string => `<tr><td style="${style}">${content}</td></tr>`

/** A separate table, so that broken tables inside do not affect the rest. */
function boxRow(content: string, { box, border, boxText }: Palette): string {
  const ground = `background-color:${box};border:1px solid ${border};border-radius:14px`
  const style = `padding:32px;${ground};font-size:16px;line-height:1.6;color:${boxText};${anyBreak}`
  const cell = `<td class="box" bgcolor="${box}" style="${style}">${content}</td>`
  return row('padding:0 0 20px', `<table ${tableAttributes} style="border-collapse:separate"><tr>${cell}</tr></table>`)
}

function textRow(tag: 'h1' | 'div', className: string, style: string, text: string | undefined): string {
  if (text === undefined) return ''
  return row(
    'padding:0',
    `<${tag} class="${className}" ${anyLanguage} style="${style};${anyBreak}">${textToMarkup(text)}</${tag}>`,
  )
}

function rowsOf({ title, subtitle, boxes, note, signature }: Page, look: SiteLook, palette: Palette): string[] {
  const { text, mutedText } = palette
  const large = `margin:0;font-size:28px;line-height:1.25;font-weight:700;color:${text}`
  return [
    row('padding:0 0 28px', header(look, palette)),
    row('padding:0 0 16px', stripe(palette)),
    textRow('h1', 'text title', large, title),
    textRow('div', 'muted', `padding:8px 0 0;font-size:17px;line-height:1.5;color:${mutedText}`, subtitle),
    row('height:28px;font-size:28px;line-height:28px', '&nbsp;'),
    ...boxes.map((box) => boxRow(box, palette)),
    textRow('div', 'muted', `padding:0 0 12px;font-size:15px;line-height:1.6;color:${mutedText}`, note),
    textRow('div', 'text', `padding:8px 0 12px;font-size:16px;line-height:1.6;color:${text}`, signature),
    row(
      'padding:16px 0 0',
      `<div class="muted" style="font-size:13px;line-height:1.6;color:${mutedText};${anyBreak}">${footer(look, palette)}</div>`,
    ),
  ].filter((markup) => markup !== '')
}

/** Tables do the layout, because mail clients support little else. */
export function layOut(page: Page, look: SiteLook): string {
  const light = lightPalette(look.colors)
  // Without a colour: spam filters penalise text in the colour of the background.
  const hidden = 'display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;font-size:1px;line-height:1px'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no">
<meta name="x-apple-disable-message-reformatting">
<title>${escapeHtml(page.title)}</title>
<style>
${styleSheet(light, darkPalette(look.colors), width)}
</style>
</head>
<body class="page" style="margin:0;padding:0;background-color:${light.page}">
<div ${anyLanguage} style="${hidden}">${escapeHtml(page.preview)}${previewFill}</div>
<table class="page" ${tableAttributes} bgcolor="${light.page}" style="background-color:${light.page};font-family:${fonts}">
<tr><td class="outer" align="center" style="padding:40px 20px">
<!--[if mso]><table role="presentation" width="${width}" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table ${tableAttributes} style="max-width:${width}px;table-layout:fixed;text-align:left">
${rowsOf(page, look, light).join('\n')}
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr>
</table>
</body>
</html>
`
}
