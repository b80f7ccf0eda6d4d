import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { families } from '../../src/metrics/families.ts'

const operations = readFileSync('docs/operations.md', 'utf8')
const section = operations.slice(operations.indexOf('\n## Metrics\n')).split('\n## ')[1] ?? ''
const yamlBlocks = [...section.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => parse(text))

/** The metrics that expressions may use, with their labels. */
const known = new Map<string, string[]>()
for (const { name, type, labels } of Object.values(families)) {
  if (type !== 'histogram') known.set(name, [...labels])
  if (type === 'histogram') known.set(`${name}_bucket`, [...labels, 'le'])
  if (type === 'histogram' || type === 'summary') {
    for (const part of ['sum', 'count'])
      known.set(
        `${name}_${part}`,
        labels.filter((label) => label !== 'quantile'),
      )
  }
}

/** Fails on a metric or a label that does not exist; returns the number of metrics. */
function checkExpression(expression: string): number {
  const named = [...expression.matchAll(/\b((?:sluice|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)]
  for (const [, name = '', labels = ''] of named) {
    assert.ok(known.has(name), `${name} in ${expression}`)
    for (const [, label = ''] of labels.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g))
      assert.ok(known.get(name)?.includes(label), `${label} of ${name} in ${expression}`)
  }
  for (const [, list = ''] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of list.split(',').map((text) => text.trim()))
      assert.ok(
        [...known.values()].some((labels) => labels.includes(label)),
        `${label} in ${expression}`,
      )
  }
  return named.length
}

describe('The documentation of metrics', () => {
  it('has alerts that name metrics and labels that exist', () => {
    const rules: { alert: string; expr: string }[] = yamlBlocks.flatMap(({ groups }) => groups?.[0]?.rules ?? [])
    assert.ok(rules.length >= 5)
    for (const { alert, expr } of rules) assert.ok(checkExpression(expr) > 0, alert)
  })

  it('has a dashboard whose panels name metrics and labels that exist', () => {
    const { panels } = JSON.parse(readFileSync('docs/grafana.json', 'utf8'))
    const targets: { expr: string }[] = panels.flatMap((panel: { targets: object[] }) => panel.targets)
    assert.ok(targets.length >= panels.length)
    for (const { expr } of targets) assert.ok(checkExpression(expr) > 0, expr)
  })

  it('has names and labels that follow Prometheus’ conventions', () => {
    for (const { name, type, labels, about } of Object.values(families)) {
      assert.match(name, /^(sluice|process|nodejs)(_[a-z]+)+$/)
      assert.equal(name.endsWith('_total'), type === 'counter', name)
      for (const label of labels) assert.match(label, /^[a-z]+$/)
      assert.match(about, /^[^\n|]+\.$/, name)
    }
    const names = Object.values(families).map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
  })
})
