import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonicalDecimal, isDecimalText, parseDecimal } from '../../src/content/decimal.ts'
import { leavesOf } from '../../src/content/leaves.ts'
import { isMediaValue } from '../../src/content/media-uses.ts'
import { isDate, parseDateTime, toIso } from '../../src/content/moments.ts'
import { type Field, innerFieldsOf, type Schema } from '../../src/content/schema.ts'
import {
  changeValue,
  checkSchemaChange,
  describeSchemaChange,
  type SchemaChange,
} from '../../src/content/schema-change.ts'
import { problemsOf } from '../../src/content/validate.ts'
import { type Kind, nestedKind } from '../helpers/nested-arbitrary.ts'

/** Texts, many of which are valid as another type. */
const someText = fc.oneof(
  fc.constantFrom('5', '4.50', '007', 'true', '2026-03-01', '2026-03-01T00:00:00Z', '09:30', '#fff', 'small', ''),
  fc.string({ unit: 'binary', maxLength: 80 }).filter((it) => !it.includes('\0')),
)
const media = (type: string) => fc.constantFrom('a', 'b').map((name) => ({ name, key: `group/${name}`, type }))
const leaves: Record<string, fc.Arbitrary<unknown>> = {
  text: someText,
  longText: someText,
  slug: fc.constantFrom('small', '5', 'true', '2026-03-01', 'a/b'),
  integer: fc.oneof(fc.constant(5), fc.maxSafeInteger()),
  decimal: fc.oneof(fc.constantFrom('5.00', '4.50', 5), fc.double({ noNaN: true, noDefaultInfinity: true })),
  boolean: fc.boolean(),
  date: fc.constantFrom('2026-03-01', '0001-01-01', '9999-12-31'),
  dateTime: fc.constantFrom('2026-03-01T00:00:00Z', '2026-03-01T09:30:00.5+02:00', '9999-12-31T23:59:59.999Z'),
  time: fc.constantFrom('09:30', '09:30:15.5'),
  enum: fc.constantFrom('small', '5', 'true'),
  color: fc.constantFrom('#fff', 'rgb(1, 2, 3)'),
  image: media('image'),
  video: media('video'),
  file: media('file'),
}

const leafKinds = Object.entries(leaves).map(
  ([type, values]): Kind => ({
    field: (type === 'enum' ? { type, values: ['small', '5', 'true'] } : { type }) as Field,
    values,
  }),
)
const listKinds = leafKinds.map(
  ({ field, values }): Kind => ({
    field: { type: 'list', of: field } as Field,
    values: fc.array(values, { maxLength: 3 }),
  }),
)
const variantName = fc.constantFrom('Small', 'Large', 'constructor', '7')
const variantKinds = [...leafKinds, ...listKinds].map(
  ({ field, values }): Kind => ({
    field: { type: 'variant', of: field } as Field,
    values: fc.oneof(values, fc.dictionary(variantName, values, { minKeys: 1, maxKeys: 3, noNullPrototype: true })),
  }),
)
const reference = { field: { type: 'reference' }, values: fc.constant('66f0c0ffee0123456789abcd') } as Kind
const nested = nestedKind(fc.constantFrom(...leafKinds, ...listKinds, reference), 2)
const kind = fc.oneof(...[leafKinds, listKinds, variantKinds].map((kinds) => fc.constantFrom(...kinds)), nested)

/** The field with the first field inside it renamed, and the path of that one. */
function renameInside(field: Field): { field: Field; path?: string; newPath?: string } {
  const [first] = innerFieldsOf(field)
  if (!first) return { field }
  const [path] = first
  const [name = '', type] = path.split('.').toReversed()
  const renamed = JSON.parse(JSON.stringify(field))
  const place = renamed.of ?? renamed
  const fields = type === undefined ? place.fields : place.blocks[type].fields
  const { [name]: moved, ...others } = fields
  const holder = type === undefined ? place : place.blocks[type]
  holder.fields = { ...others, renamed: moved }
  return { field: renamed, path, newPath: type === undefined ? 'renamed' : `${type}.renamed` }
}

/** The change of one field: its new name, or none. */
const fate = fc
  .tuple(kind, kind, fc.constantFrom('kept', 'retyped', 'renamed', 'renamed inside', 'removed'), fc.boolean())
  .chain(([from, to, what, required]) =>
    fc.oneof({ weight: 9, arbitrary: from.values }, fc.constantFrom(null, undefined)).map((value) => {
      const inside = what === 'renamed inside' ? renameInside(from.field) : undefined
      const field = inside?.field ?? (what === 'kept' ? from.field : to.field)
      return { from: from.field, to: { ...field, required }, what, value, inside }
    }),
  )

interface Scenario {
  current: Schema
  change: SchemaChange
  value: Record<string, unknown>
  newNames: Map<string, string>
}

/** New fields are in reverse order, to check that the new order is used. */
const scenario = fc.array(fate, { minLength: 1, maxLength: 5 }).map((fates): Scenario => {
  const named = fates.map((it, position) => ({ ...it, old: `f${position}`, now: `${it.what === 'renamed' ? 'r' : 'f'}${position}` }))
  const staying = named.filter(({ what }) => what !== 'removed').reverse()
  const renamed = named.filter(({ what }) => what === 'renamed')
  return {
    current: new Map(named.map(({ old, from }) => [old, from])),
    change: {
      schema: new Map(staying.map(({ now, to }) => [now, to])),
      renames: Object.fromEntries([
        ...renamed.map(({ old, now }) => [old, now]),
        ...named.flatMap(({ old, inside }) => (inside?.path ? [[`${old}.${inside.path}`, `${old}.${inside.newPath}`]] : [])),
      ]),
      defaults: {},
    },
    value: Object.fromEntries(named.map(({ old, value }) => [old, value])),
    newNames: new Map(staying.map(({ old, now }) => [old, now])),
  }
}) // biome-ignore format: one line reads better

/** A single value independent of its type's notation. */
function meaningOf(value: unknown): string {
  if (typeof value === 'object') return JSON.stringify(value)
  const printed = String(value)
  if (typeof value === 'number' || isDecimalText(printed)) return canonicalDecimal(parseDecimal(printed))
  const ms = parseDateTime(isDate(printed) ? `${printed}T00:00:00Z` : printed)
  return ms === undefined ? printed : toIso(ms)
}

const meaningsIn = (field: Field | undefined, value: unknown): Set<string> =>
  new Set(field && leavesOf('', field, value).map((leaf) => meaningOf(leaf.value)))

function meaningsAnywhere(value: unknown): string[] {
  if (value === null) return []
  if (typeof value !== 'object' || isMediaValue(value)) return [meaningOf(value)]
  return Object.values(value).flatMap(meaningsAnywhere)
}

describe('a schema change, for any schemas and value:', () => {
  const always = (check: (scenario: Scenario, result: ReturnType<typeof changeValue>) => void) =>
    fc.assert(
      fc.property(scenario, (it) => check(it, changeValue(it.current, it.change, it.value))),
      { numRuns: 2000 },
    )

  it('is valid, and the value fitted before', () => {
    always(({ current, change, value }) => {
      checkSchemaChange(current, change)
      assert.deepEqual(problemsOf(current, value), [])
    })
  })

  it('a value without problems fits the new schema', () => {
    always(({ change }, { value, problems }) => {
      if (problems.length === 0) assert.deepEqual(problemsOf(change.schema, value), [])
    })
  })

  it('a second application changes nothing', () => {
    always(({ change }, { value }) => {
      const again = changeValue(change.schema, { ...change, renames: {} }, value)
      assert.equal(JSON.stringify(again.value), JSON.stringify(value))
      assert.deepEqual(again.lost, [])
    })
  })

  it('every single value is in the result, lost, or in a field with a problem', () => {
    always(({ current, change, value, newNames }, { value: changed, lost, problems }) => {
      for (const [name, field] of current) {
        const now = newNames.get(name)
        const old = { field: name, value: value[name] }
        if (now === undefined) {
          assert.deepEqual(
            lost.filter((it) => it.field === name),
            (old.value ?? null) === null ? [] : [old],
          )
        } else if (!problems.some((problem) => problem.startsWith(`objectValue.${now}`))) {
          const lostInside = lost.filter((it) => it.field.startsWith(`${name}.`))
          const found = meaningsIn(change.schema.get(now), changed[now])
          const [before, gone] = [meaningsIn(field, old.value), lostInside.flatMap((it) => meaningsAnywhere(it.value))]
          assert.deepEqual(found.union(new Set(gone)), before)
        }
      }
    })
  })

  it('a field of unchanged type stays the same byte for byte, and fields are in the order of the new schema', () => {
    always(({ current, change, value, newNames }, { value: changed }) => {
      const order = [...change.schema.keys()].filter((name) => name in changed)
      assert.deepEqual(Object.keys(changed), order)
      const { retyped, added, removed, renamed } = describeSchemaChange(current, change)
      const touched = [...added, ...removed, ...retyped.map(({ field }) => field), ...renamed.map(({ from }) => from)]
      for (const [old, now] of newNames) {
        const isRetyped = retyped.some(({ field }) => field === now)
        const isTouchedInside = touched.some((path) => path.startsWith(`${now}.`) || path.startsWith(`${old}.`))
        if (!isRetyped && !isTouchedInside) assert.equal(JSON.stringify(changed[now]), JSON.stringify(value[old]))
      }
    })
  })

  it('the stored value is not mutated', () => {
    fc.assert(
      fc.property(scenario, ({ current, change, value }) => {
        const before = structuredClone(value)
        changeValue(current, change, value)
        assert.deepEqual(value, before)
      }),
    )
  })
})
