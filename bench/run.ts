import { mkdirSync, writeFileSync } from 'node:fs'
import { arch, cpus, platform, totalmem } from 'node:os'
import { join } from 'node:path'
import { benchSigning } from './signing.ts'

/** Measures, and writes what came out to bench/results/. Arguments name the parts; none means all. */
const parts: Record<string, () => Promise<string>> = {
  signing: benchSigning,
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0) {
  console.error(`There is no part "${unknown.join('", "')}". Parts: ${Object.keys(parts).join(', ')}.`)
  process.exit(1)
}

function describeMachine(): string {
  const [cpu] = cpus()
  const { node, openssl, sqlite, v8 } = process.versions
  const gigabytes = Math.round(totalmem() / 1024 ** 3)
  return [
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpu?.model ?? 'unknown'} (${arch()}), ${gigabytes} GB,`,
    `${platform()}, Node ${node}, V8 ${v8}, OpenSSL ${openssl}, SQLite ${sqlite}`,
  ].join(' ')
}

const results = join(import.meta.dirname, 'results')
mkdirSync(results, { recursive: true })
for (const [name, measure] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const text = `# npm run bench -- ${name}\n\n${describeMachine()}\n\n${await measure()}`
  writeFileSync(join(results, `${name}.md`), text)
  console.log(text)
}
