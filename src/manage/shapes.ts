import type { TSchema } from 'typebox'
import { toIso } from '../content/moments.ts'
import { conflict } from '../core/errors.ts'
import { Type } from '../core/type.ts'

/** Optimistic locking: an edit of an older version is refused, with both values in the details. */
export function refuseStale(
  what: string,
  current: number,
  started: number | undefined,
  details: () => { current: object; yours: object },
): void {
  if (started === undefined || started === current) return
  throw conflict(
    `The ${what} has been changed: it is at version ${current}, you started from ${started}. Merge the two and send the result with the current version.`,
    details(),
  )
}

const exampleId = '66f0c0ffee0123456789abcd'
export const id = (description: string) =>
  Type.String({ minLength: 1, maxLength: 100, description, examples: [exampleId] })
/** A secret, never shown again. The command line reads it from a variable or standard input, not from its arguments. */
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
export const openObject = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description })
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms))

export const listOf = <Item extends TSchema>(item: Item) =>
  Type.Object({ items: Type.Array(item), totalCount: Type.Integer({ minimum: 0 }) })

/** The same, paged by `after` if it is given. */
export const cursorListOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    totalCount: Type.Integer({ minimum: 0 }),
    nextCursor: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'With after only: the after of the next page; null at the end.',
      }),
    ),
  })

/** The answer of an unpaged list. */
export const completeList = <Item>(items: Item[]) => ({ items, totalCount: items.length })

export const oneTimeSecret = (what: string) => Type.String({ description: `The ${what} itself, shown only this once.` })

export const doneShape = Type.Object({ done: Type.Literal(true) })
export const done = { done: true } as const

/** A duration in seconds; on the command line also `30m`, `24h` or `7d`. */
export const durationInput = (description: string, minimum: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum, maximum, description: `${description} In seconds.` }))
