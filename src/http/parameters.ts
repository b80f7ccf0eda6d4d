import { maxLimit } from '../content/list-query.ts'
import { Type } from '../core/type.ts'

/** Query parameters that several endpoints share; one schema validates, types and documents each. */
export const idParameter = (description: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 100, description, examples: [example] })

export const limitParameter = Type.Optional(
  Type.Integer({ minimum: 1, maximum: maxLimit, default: maxLimit, description: 'Maximum number of items.' }),
)

export const skipParameter = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0, description: 'How many matches to leave out first.' }),
)

export const sortParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    description: '`<field>:asc` or `<field>:desc`, up to 5 separated by commas, most important first.',
    examples: ['publishDate:desc'],
  }),
)

export const searchParameter = Type.Optional(
  Type.String({ maxLength: 200, description: 'Words that must all occur, in any case.', examples: ['sourdough'] }),
)

export const filtersParameter = (example: Record<string, string[]>) =>
  Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description:
        '`filters[<field>]=<value>`: exact, case-sensitive. Several fields must all match; of a repeated field any value. At most 12 fields and 50 values.',
      examples: [example],
    }),
  )
