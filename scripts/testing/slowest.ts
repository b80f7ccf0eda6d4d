import { readFileSync, writeFileSync } from 'node:fs'
import type { FileResult } from './run-files.ts'

const page = 'docs/testing.md'
const marked = /(<!-- slowest -->\n)[\s\S]*?(<!-- \/slowest -->)/
const publishedFiles = 30

const inSeconds = (ms: number): string => (ms / 1000).toFixed(1)

/** The test files that took longest when it was last recorded, the slowest first. */
export function readSlowest(): string[] {
  const [table = ''] = marked.exec(readFileSync(page, 'utf8')) ?? []
  return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, file = '']) => file)
}

/** Records the slowest files in the page's table. */
export function writeSlowest(results: FileResult[]): void {
  const rows = results
    .flatMap(({ shares }) => shares)
    .sort((one, other) => other.durationMs - one.durationMs)
    .slice(0, publishedFiles)
    .map(
      ({ file, tests, durationMs, cpuMs }) =>
        `| \`${file}\` | ${tests} | ${inSeconds(durationMs)} | ${inSeconds(cpuMs)} |`,
    )
  const table = ['| file | tests | seconds | CPU seconds |', '|---|---|---|---|', ...rows].join('\n')
  const text = readFileSync(page, 'utf8')
  writeFileSync(
    page,
    text.replace(marked, (_, begin: string, end: string) => `${begin}${table}\n${end}`),
  )
}
