import type { Family } from './families.ts'

export const textType = 'text/plain; version=0.0.4; charset=utf-8'

/** One value of a family. */
export interface Sample {
  /** In the order of the family's labels; `le` of a histogram's bucket comes last. */
  labels?: readonly string[]
  /** The suffix of a histogram's or summary's sample. */
  part?: 'bucket' | 'sum' | 'count'
  value: number
}

export interface Reading {
  family: Family
  samples: readonly Sample[]
}

export const single = (family: Family, value: number): Reading => ({ family, samples: [{ value }] })

const escapes: Record<string, string> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }
const escapeLabel = (text: string): string => text.replace(/[\\"\n]/g, (character) => escapes[character] ?? '')
const escapeHelp = (text: string): string => text.replace(/[\\\n]/g, (character) => escapes[character] ?? '')

const numberText = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)

function sampleLine({ name, labels: labelNames }: Family, { labels = [], part, value }: Sample): string {
  const names = part === 'bucket' ? [...labelNames, 'le'] : labelNames
  const pairs = labels.map((text, index) => `${names[index]}="${escapeLabel(text)}"`)
  const labelText = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
  return `${name}${part === undefined ? '' : `_${part}`}${labelText} ${numberText(value)}\n`
}

/** Omits families without samples, such as those of the other database engine. */
export function renderText(readings: readonly Reading[]): string {
  let text = ''
  for (const { family, samples } of readings) {
    if (samples.length === 0) continue
    text += `# HELP ${family.name} ${escapeHelp(family.about)}\n# TYPE ${family.name} ${family.type}\n`
    for (const sample of samples) text += sampleLine(family, sample)
  }
  return text
}
