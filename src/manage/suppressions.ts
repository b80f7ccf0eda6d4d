import type { Static } from 'typebox'
import { isEmailAddress, maxAddressLength } from '../content/email.ts'
import { toIso } from '../content/moments.ts'
import { invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { limitParameter, skipParameter } from '../http/query.ts'
import {
  addSuppression,
  findSuppression,
  listSuppressions,
  removeSuppression,
  type Suppression,
} from '../store/mail/suppressions.ts'
import { done, doneShape, listOf, moment } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

export const suppressionShape = Type.Object({
  address: Type.String(),
  reason: Type.String({ description: 'The answer of the mail server, or what the person wrote who added it.' }),
  createdAt: moment,
})

export const showSuppression = ({ address, reason, createdMs }: Suppression): Static<typeof suppressionShape> => ({
  address,
  reason,
  createdAt: toIso(createdMs),
})

const address = Type.String({
  minLength: 1,
  maxLength: maxAddressLength,
  description: 'The e-mail address, in any case.',
  examples: ['gone@people.example'],
})

export const suppressionVerbs = [
  defineGroupVerb({
    name: 'suppression list',
    summary: 'Show the addresses that a group no longer sends e-mails to',
    description: 'An address is added when its mail server answers that it does not exist.',
    input: { limit: limitParameter, skip: skipParameter },
    answer: listOf(suppressionShape),
    columns: ['address', 'reason', 'createdAt'],
    async run({ ctx, input }) {
      const { limit = 100, skip = 0 } = input
      const { suppressions, totalCount } = await listSuppressions(ctx.content, { limit, skip })
      return { items: suppressions.map(showSuppression), totalCount }
    },
  }),
  defineGroupVerb({
    name: 'suppression add',
    args: ['address'],
    isCreation: true,
    summary: 'Stop sending e-mails to an address',
    description: 'E-mails to it are still accepted, and fail with this reason: they can be retried once it is removed.',
    input: {
      address,
      reason: Type.Optional(
        Type.String({ minLength: 1, maxLength: 300, description: 'Why. Default: that it was added by hand.' }),
      ),
    },
    answer: suppressionShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        if (!isEmailAddress(input.address)) throw invalid('address must be one e-mail address.')
        await addSuppression(writer, input.address, input.reason ?? 'It was added by hand.')
        const added = await findSuppression(writer.group, input.address)
        if (!added) throw new Error('The suppression was not stored.')
        return showSuppression(added)
      }),
  }),
  defineGroupVerb({
    name: 'suppression remove',
    args: ['address'],
    summary: 'Send e-mails to an address again',
    description: 'E-mails that failed in the meantime can be sent by "mail retry".',
    input: { address },
    answer: doneShape,
    async run({ ctx, input }) {
      const isRemoved = await ctx.write((writer) => removeSuppression(writer, input.address))
      if (!isRemoved) throw notFound('This address is not on the list.')
      return done
    },
  }),
]
