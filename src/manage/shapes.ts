import type { TSchema } from 'typebox'
import { toIso } from '../content/moments.ts'
import { Type } from '../type.ts'

/** The parts of what the verbs take and answer. */

const exampleId = '66f0c0ffee0123456789abcd'
export const id = (description: string) =>
  Type.String({ minLength: 1, maxLength: 100, description, examples: [exampleId] })
/** What is sent and never shown again. The command line takes it from a variable or standard input, not from its arguments. */
export const secret = (description: string, variable: string) =>
  Type.String({
    minLength: 8,
    maxLength: 500,
    pattern: '^[!-~]+$',
    writeOnly: true,
    description,
    'x-variable': variable,
  })
export const ownId = Type.String({ examples: [exampleId] })
export const moment = Type.String({ format: 'date-time', examples: ['2026-03-01T09:30:00.000Z'] })
export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms))

export const listOf = <Item extends TSchema>(item: Item) =>
  Type.Object({ items: Type.Array(item), totalCount: Type.Integer({ minimum: 0 }) })

/** A list that is short enough to be answered as a whole. */
export const wholeList = <Item>(items: Item[]) => ({ items, totalCount: items.length })

export const shownOnce = (what: string) => Type.String({ description: `The ${what} itself. It is shown only now.` })

export const doneShape = Type.Object({ done: Type.Literal(true) })
export const done = { done: true } as const

/** A length of time in seconds; on the command line also `30m`, `24h` or `7d`. */
export const durationInput = (description: string, minimum: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum, maximum, description: `${description} In seconds.` }))
