import type { Palette } from '../colors.ts'

const cell = 'padding:10px 12px 10px 0;vertical-align:top;text-align:left'
const lastCell = 'padding:10px 0 10px 12px;vertical-align:top;text-align:right'
const heading = 'margin:0 0 12px;line-height:1.3;font-weight:700'
const list = 'margin:0 0 16px;padding:0 0 0 22px'

function stylesOf({ border, boxMutedText, boxLink }: Palette): Readonly<Record<string, string>> {
  const line = `border-bottom:1px solid ${border}`
  return {
    p: 'margin:0 0 16px',
    h1: `${heading};font-size:22px`,
    h2: `${heading};font-size:20px`,
    h3: `${heading};font-size:18px`,
    h4: `${heading};font-size:16px`,
    ul: list,
    ol: list,
    li: 'margin:0 0 6px',
    hr: `margin:20px 0;border:0;border-top:1px solid ${border}`,
    blockquote: `margin:0 0 16px;padding:0 0 0 16px;border-left:3px solid ${border}`,
    pre: 'margin:0 0 16px;white-space:pre-wrap;font-size:14px',
    table: 'width:100%;border-collapse:collapse;margin:0 0 16px',
    th: `${cell};${line};font-size:13px;font-weight:600;color:${boxMutedText}`,
    td: `${cell};${line}`,
    a: `color:${boxLink};text-decoration:underline`,
    'th last': `${lastCell};${line};font-size:13px;font-weight:600;color:${boxMutedText}`,
    'td last': `${lastCell};${line}`,
  }
}

interface Tag {
  name: string
  isEnd: boolean
  /** The index in the markup after the tag. */
  end: number
  /** Whether it is the last cell of a row of several. */
  isLast: boolean
  /** Whether the cell must not wrap: "CA$ 17.00". */
  isUnbroken: boolean
}

/** The sanitizer escapes ">" in attributes. */
const tagPattern = /<(\/?)([a-z][a-z0-9]*)[^>]*>/g
/** Including markup. */
const maxUnbrokenLength = 30
/** More would not fit on a phone. */
const maxUnbrokenCells = 4

function closeRow(cells: Tag[]): void {
  const last = cells.at(-1)
  if (last && cells.length > 1) last.isLast = true
  for (const cell of cells) cell.isUnbroken &&= (cell.isLast || cell.name === 'th') && cells.length <= maxUnbrokenCells
}

/** Tables may be nested. */
function readTags(html: string): Tag[] {
  const rows: Tag[][] = []
  const openCells: Tag[] = []
  return Array.from(html.matchAll(tagPattern), ({ 0: written, 1: slash, 2: name = '', index }) => {
    const tag = { name, isEnd: slash === '/', end: index + written.length, isLast: false, isUnbroken: false }
    const isCell = name === 'td' || name === 'th'
    if (name === 'tr' && tag.isEnd) closeRow(rows.pop() ?? [])
    else if (name === 'tr') rows.push([])
    else if (isCell && tag.isEnd) {
      const cell = openCells.pop()
      if (cell) cell.isUnbroken = index - cell.end <= maxUnbrokenLength
    } else if (isCell) {
      openCells.push(tag)
      rows.at(-1)?.push(tag)
    }
    return tag
  })
}

/** Adds inline styles to sanitised markup, for mail clients without support for style sheets. */
export function dressBox(html: string, palette: Palette): string {
  const styles = stylesOf(palette)
  const tags = readTags(html).values()
  return html.replace(tagPattern, (written) => {
    const { name, isEnd, isLast, isUnbroken } = tags.next().value as Tag // in step, since the same pattern found them
    const style = styles[isLast ? `${name} last` : name]
    if (isEnd || style === undefined) return written
    return `<${name} style="${style}${isUnbroken ? ';white-space:nowrap' : ''}"${written.slice(name.length + 1)}`
  })
}
