import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { settings } from '../src/config/config.ts'
import { families } from '../src/metrics/families.ts'

/**
 * Checks documentation that becomes wrong unnoticed: links into the repository, paths of code, test names in the tables of
 * decisions, and the tables of settings and metrics, which are generated from the code (`--write` updates them).
 */
const problems: string[] = []

const slugOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

function anchorsIn(file: string): Set<string> {
  const headings = readFileSync(file, 'utf8').matchAll(/^#{1,6} (.+)$/gm)
  return new Set([...headings].map(([, heading = '']) => slugOf(heading)))
}

function checkLinks(file: string): void {
  for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue
    const [path = '', anchor] = target.split('#')
    const destination = path === '' ? file : join(dirname(file), path)
    if (!existsSync(destination)) problems.push(`${file}: ${target} does not exist`)
    else if (anchor !== undefined && destination.endsWith('.md') && !anchorsIn(destination).has(anchor)) {
      problems.push(`${file}: ${target} has no such heading`)
    }
  }
}

const codePath = /`((?:[\w.-]+\/)+[\w-]+(?:\.test)?\.(?:ts|tsx|js|grit|sh|yaml))`/g
/** Documents give paths from the root, or from one of these folders. */
const codeRoots = ['', 'src', 'test']

function checkCodePaths(file: string): void {
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(codePath)) {
    if (!codeRoots.some((root) => existsSync(join(root, path)))) problems.push(`${file}: there is no file ${path}`)
  }
}

/** Rows end with `<test file>: <test name>`, several separated by <br>, or `planned`. */
function checkDecisions(file: string): void {
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (!line.startsWith('| ') || line.startsWith('| What the specification ')) continue
    const held = line.split(' | ').at(-1)?.replace(/ \|$/, '').trim() ?? ''
    if (held === 'planned') continue
    const named = [...held.matchAll(/`([^`:]+): ([^`]+)`/g)]
    if (named.length === 0) problems.push(`${file}: no test is named in "${line.slice(0, 60)}…"`)
    for (const [, testFile = '', name = ''] of named) {
      if (!existsSync(testFile)) problems.push(`${file}: ${testFile} does not exist`)
      else if (!readFileSync(testFile, 'utf8').includes(name))
        problems.push(`${file}: ${testFile} has no test "${name}"`)
    }
  }
}

function settingsTable(): string {
  const rows = Object.values(settings).map(
    ({ name, default: fallback, about }) => `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${about} |`,
  )
  return ['| name | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

function metricsTable(): string {
  const rows = Object.values(families).map(
    ({ name, type, labels, about }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${about} |`,
  )
  return ['| name | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

/** A table between two marks that is generated from the code. */
function checkTable(file: string, mark: string, table: string, write: boolean): void {
  const marked = new RegExp(`(<!-- ${mark} -->\\n)[\\s\\S]*?(<!-- /${mark} -->)`)
  const text = readFileSync(file, 'utf8')
  const current = text.replace(marked, (_, begin: string, end: string) => `${begin}${table}\n${end}`)
  if (!marked.test(text)) problems.push(`${file}: the marks around the table of ${mark} are missing`)
  if (current === text) return
  if (write) writeFileSync(file, current)
  else problems.push(`${file}: the table of ${mark} is out of date; run "node scripts/check-docs.ts --write"`)
}

for (const file of globSync(['*.md', 'docs/**/*.md', 'client/*.md'])) {
  checkLinks(file)
  if (file !== 'CHANGELOG.md') checkCodePaths(file) // which names former files
}
for (const file of globSync('docs/decisions/*.md')) checkDecisions(file)
const write = process.argv.includes('--write')
checkTable('docs/operations.md', 'settings', settingsTable(), write)
checkTable('docs/operations.md', 'metrics', metricsTable(), write)
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}
