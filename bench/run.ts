import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Engine } from '../src/store/engine/database.ts'
import { benchAutosaves } from './autosaves.ts'
import { benchCold } from './cold.ts'
import { benchHot } from './hot.ts'
import { ensureWrk } from './load.ts'
import { benchMemory } from './memory.ts'
import type { Part } from './part.ts'
import { benchScale } from './scale.ts'
import { benchSigning } from './signing.ts'
import { benchStart } from './start.ts'
import { openStock } from './stock.ts'
import { writeFinding } from './write-finding.ts'
import { benchWrites } from './writes.ts'

/** Writes the results to bench/results/ and docs/. */
const parts: Record<string, Part> = {
  hot: benchHot,
  cold: benchCold,
  scale: benchScale,
  memory: benchMemory,
  start: benchStart,
  writes: benchWrites,
  autosaves: benchAutosaves,
  signing: benchSigning,
}
/** Minutes; the others take longer, or hours on the first run. */
const partsByDefault = ['hot', 'cold']

const allEngines: Engine[] = ['sqlite', 'postgres']

const usage = `npm run bench -- [part …] [options]

Parts: ${Object.keys(parts).join(', ')}; "all" for all of them, ${partsByDefault.join(' and ')} where none is named.
  --rounds=5      how often servers take turns     --seconds=3     how long a turn is
  --items=10000   items to ask for pages of        --sizes=1000,10000,100000,1000000   for "scale"
  --samples=200   questions for each latency       --minutes=10    how long "memory" watches
  --engine=both   sqlite, postgres or both         --data=FOLDER   where filled databases are kept (bench/.data)
`

const number = (text: string): number => {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`"${text}" must be a number above 0.`)
  return value
}

function readArguments() {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      scale: { type: 'boolean' },
      rounds: text('5'),
      seconds: text('3'),
      items: text('10000'),
      sizes: text('1000,10000,100000,1000000'),
      samples: text('200'),
      minutes: text('10'),
      engine: text('both'),
      data: text(join(import.meta.dirname, '.data')),
    },
  })
  const named = values.scale ? [...positionals, 'scale'] : positionals
  const wanted = named.includes('all') ? Object.keys(parts) : named.length > 0 ? named : partsByDefault
  const unknown = wanted.filter((name) => !Object.hasOwn(parts, name))
  if (unknown.length > 0) throw new Error(`There is no part "${unknown.join('", "')}".\n\n${usage}`)
  const engines = allEngines.filter((engine) => values.engine === 'both' || values.engine === engine)
  if (engines.length === 0) throw new Error(`There is no engine "${values.engine}".\n\n${usage}`)
  return {
    help: values.help === true,
    wanted,
    data: values.data,
    engines,
    rounds: number(values.rounds),
    seconds: number(values.seconds),
    items: number(values.items),
    sizes: values.sizes.split(',').map(number),
    samples: number(values.samples),
    minutes: number(values.minutes),
    startItems: 100_000,
    settleSeconds: 5,
    settings: {},
  }
}

const progressEveryMs = 5000
let lastProgressMs = Number.NEGATIVE_INFINITY

/** Overwrites one line on a terminal; elsewhere prints a line every few seconds. */
function progress(text: string): void {
  if (process.stderr.isTTY) return void process.stderr.write(`\r\x1b[K${text}`)
  if (performance.now() - lastProgressMs < progressEveryMs) return
  lastProgressMs = performance.now()
  process.stderr.write(`${text}\n`)
}

async function main(): Promise<void> {
  const { help, wanted, data, ...sizes } = readArguments()
  if (help) return console.log(usage)
  await using stock = openStock({ folder: data, progress })
  const root = join(import.meta.dirname, '..')
  const paths = {
    results: join(root, 'bench/results'),
    charts: join(root, 'docs'),
    page: join(root, 'docs/performance.md'),
  }
  const load = ensureWrk()
  for (const [name, measure] of Object.entries(parts)) {
    if (!wanted.includes(name)) continue
    const text = writeFinding(name, await measure({ ...sizes, load, stock, progress }), paths)
    process.stderr.write('\n')
    console.log(text)
  }
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
