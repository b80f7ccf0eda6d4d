import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describeMachine } from './machine.ts'
import type { Finding } from './part.ts'

export interface Places {
  /** The folder of what each part has found. */
  results: string
  /** The folder of charts. */
  charts: string
  /** A page that shows the tables of a part where it says `<!-- bench NAME -->`. */
  page: string
}

/** So nobody copies figures by hand. */
function showIn(page: string, name: string, shown: string): void {
  const marked = new RegExp(`(<!-- bench ${name} -->\n)[\\s\\S]*?(<!-- /bench ${name} -->)`)
  const text = readFileSync(page, 'utf8')
  writeFileSync(
    page,
    text.replace(marked, (_, begin: string, end: string) => `${begin}${shown}\n${end}`),
  )
}

const titleOf = (svg: string): string => /<title[^>]*>([^<]*)/.exec(svg)?.[1] ?? ''

/** Writes down what a part has found, with the machine that it was found on, and gives it as one text. */
export function writeFinding(name: string, { about, tables, charts = {} }: Finding, places: Places): string {
  const machine = describeMachine()
  const text = `# npm run bench -- ${name}\n\n${machine}\n\n${about}\n\n${tables}\n`
  for (const folder of [places.results, places.charts]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(places.results, `${name}.md`), text)
  for (const [file, svg] of Object.entries(charts)) writeFileSync(join(places.charts, file), svg)
  if (existsSync(places.page)) {
    const from = (folder: string, file: string): string => relative(dirname(places.page), join(folder, file))
    const images = Object.entries(charts).map(([file, svg]) => `![${titleOf(svg)}](${from(places.charts, file)})`)
    const source = `${machine}. [How it was measured](${from(places.results, `${name}.md`)}).`
    showIn(places.page, name, [tables, ...images, source].join('\n\n'))
  }
  return text
}
