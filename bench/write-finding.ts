import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describeMachine } from './machine.ts'
import type { Finding } from './part.ts'

export interface OutputPaths {
  /** The folder of the results of each part. */
  results: string
  charts: string
  /** A page that shows the tables of a part between its markers `<!-- bench NAME -->`. */
  page: string
}

function showIn(page: string, name: string, shown: string): void {
  const marked = new RegExp(`(<!-- bench ${name} -->\n)[\\s\\S]*?(<!-- /bench ${name} -->)`)
  const text = readFileSync(page, 'utf8')
  writeFileSync(
    page,
    text.replace(marked, (_, begin: string, end: string) => `${begin}${shown}\n${end}`),
  )
}

const titleOf = (svg: string): string => /<title[^>]*>([^<]*)/.exec(svg)?.[1] ?? ''

/** Writes the result of a part together with the machine, and returns the text. */
export function writeFinding(name: string, { about, tables, charts = {} }: Finding, paths: OutputPaths): string {
  const machine = describeMachine()
  const text = `# npm run bench -- ${name}\n\n${machine}\n\n${about}\n\n${tables}\n`
  for (const folder of [paths.results, paths.charts]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(paths.results, `${name}.md`), text)
  for (const [file, svg] of Object.entries(charts)) writeFileSync(join(paths.charts, file), svg)
  if (existsSync(paths.page)) {
    const from = (folder: string, file: string): string => relative(dirname(paths.page), join(folder, file))
    const images = Object.entries(charts).map(([file, svg]) => `![${titleOf(svg)}](${from(paths.charts, file)})`)
    const source = `${machine}. [How it was measured](${from(paths.results, `${name}.md`)}).`
    showIn(paths.page, name, [tables, ...images, source].join('\n\n'))
  }
  return text
}
