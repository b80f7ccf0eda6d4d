import assert from 'node:assert/strict'

/** One line of the text. */
export interface ParsedSample {
  name: string
  labels: Record<string, string>
  value: number
}

export interface ParsedFamily {
  type: string
  help: string
  samples: ParsedSample[]
}

const nameShape = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const labelShape = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|\})/
const numberShape = /^(?:[+-]?Inf|NaN|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/

function parseNumber(text: string): number {
  assert.match(text, numberShape, `not a number: ${text}`)
  return Number(text.replace('Inf', 'Infinity'))
}

const withoutEscapes = (text: string): string =>
  text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))

function parseSample(line: string): ParsedSample {
  const name = nameShape.exec(line)?.[0]
  assert.ok(name, `no name: ${line}`)
  const labels: Record<string, string> = {}
  let rest = line.slice(name.length)
  if (rest.startsWith('{')) {
    rest = rest.slice(1)
    for (let end = ','; end === ','; ) {
      const found = labelShape.exec(rest)
      assert.ok(found, `labels cannot be read: ${line}`)
      const [whole, label = '', value = '', after = ''] = found
      assert.ok(!Object.hasOwn(labels, label), `a label twice: ${line}`)
      labels[label] = withoutEscapes(value)
      rest = rest.slice(whole.length)
      end = after
    }
  }
  assert.ok(rest.startsWith(' '), `no blank before the value: ${line}`)
  return { name, labels, value: parseNumber(rest.slice(1)) }
}

const partsOf: Record<string, string[]> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
}

/** Buckets are cumulative, and the last one, `+Inf`, counts everything. */
function checkHistogram(name: string, { samples }: ParsedFamily): void {
  const seriesOf = ({ labels: { le: _, ...labels } }: ParsedSample): string => JSON.stringify(labels)
  for (const series of new Set(samples.map(seriesOf))) {
    const own = samples.filter((sample) => seriesOf(sample) === series)
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`)
    const ends = buckets.map(({ labels }) => parseNumber(labels.le ?? ''))
    assert.equal(ends.at(-1), Number.POSITIVE_INFINITY, `${name}${series} has no last bucket`)
    assert.deepEqual(
      ends,
      [...new Set(ends)].sort((one, other) => one - other),
      `${name}${series} is out of order`,
    )
    const counts = buckets.map(({ value }) => value)
    assert.deepEqual(
      counts,
      counts.toSorted((one, other) => one - other),
      `${name}${series} does not add up`,
    )
    const count = own.filter((sample) => sample.name === `${name}_count`)
    const sum = own.filter((sample) => sample.name === `${name}_sum`)
    assert.deepEqual([count.length, sum.length], [1, 1], `${name}${series} needs one sum and one count`)
    assert.equal(count[0]?.value, counts.at(-1))
  }
}

/** Parses Prometheus' text format 0.0.4 strictly. */
export function parseMetrics(text: string): Map<string, ParsedFamily> {
  assert.ok(text.endsWith('\n'), 'the last line has no end')
  const found = new Map<string, ParsedFamily>()
  let current: { name: string; family: ParsedFamily } | undefined
  const seen = new Set<string>()
  for (const line of text.slice(0, -1).split('\n')) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line) ?? []
    if (word === 'HELP') {
      assert.ok(!found.has(name), `HELP of ${name} twice`)
      assert.doesNotMatch(rest.replaceAll('\\\\', '').replaceAll('\\n', ''), /\\/, `HELP of ${name} is not escaped`)
      current = { name, family: { type: '', help: rest, samples: [] } }
      found.set(name, current.family)
    } else if (word === 'TYPE') {
      assert.ok(current?.name === name && current.family.type === '', `TYPE of ${name} is out of place`)
      assert.ok(Object.hasOwn(partsOf, rest), `${rest} is no type`)
      current.family.type = rest
    } else {
      const sample = parseSample(line)
      assert.ok(current, `a value before HELP and TYPE: ${line}`)
      const { name: familyName, family } = current
      const part = sample.name.slice(familyName.length)
      assert.ok(sample.name.startsWith(familyName) && partsOf[family.type]?.includes(part), `out of place: ${line}`)
      const series = line.slice(0, line.lastIndexOf(' '))
      assert.ok(!seen.has(series), `twice: ${series}`)
      seen.add(series)
      if (family.type !== 'gauge') assert.ok(sample.value >= 0, `a negative value: ${line}`)
      family.samples.push(sample)
    }
  }
  for (const [name, family] of found) {
    assert.ok(family.samples.length > 0, `${name} has no value`)
    if (family.type === 'counter') assert.match(name, /_total$/)
    if (family.type === 'histogram') checkHistogram(name, family)
  }
  return found
}

/** The value with exactly these labels, or undefined. */
export function readValue(
  metrics: Map<string, ParsedFamily>,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const family = metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ''))
  const wanted = JSON.stringify(Object.entries(labels).sort())
  return family?.samples.find(
    (sample) => sample.name === name && JSON.stringify(Object.entries(sample.labels).sort()) === wanted,
  )?.value
}
