import { isEmailAddress, maxAddressLength } from '../content/email.ts'
import { invalid, notFound } from '../errors.ts'
import { limitParameter, skipParameter } from '../http/parameters.ts'
import { addSuppression, findSuppression, listSuppressions, removeSuppression } from '../store/suppressions.ts'
import { Type } from '../type.ts'
import { showSuppression, suppressionShape } from './mail-shapes.ts'
import { done, doneShape, listOf } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

const address = Type.String({
  minLength: 1,
  maxLength: maxAddressLength,
  description: 'The e-mail address, in any case.',
  examples: ['gone@people.example'],
})
const path = '/manage/groups/:groupId/suppressions'

export const suppressionVerbs = [
  defineGroupVerb({
    name: 'suppression list',
    summary: 'Show the addresses to which a group sends nothing more',
    description: 'An address comes here when its mail server says that it does not exist.',
    needs: 'viewer',
    route: `GET ${path}`,
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
    summary: 'Send nothing more to an address',
    description: 'E-mails to it are still accepted, and fail with this reason: they can be sent when it is taken off.',
    needs: 'editor',
    route: `POST ${path}`,
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
        if (!added) throw new Error('What was just added is not there.')
        return showSuppression(added)
      }),
  }),
  defineGroupVerb({
    name: 'suppression remove',
    args: ['address'],
    summary: 'Send to an address again',
    description: 'What failed meanwhile can be sent by "mail retry".',
    needs: 'editor',
    route: `POST ${path}/remove`, // in a body, since addresses of people do not belong into the logs of proxies
    input: { address },
    answer: doneShape,
    async run({ ctx, input }) {
      const isRemoved = await ctx.write((writer) => removeSuppression(writer, input.address))
      if (!isRemoved) throw notFound('This address is not on the list.')
      return done
    },
  }),
]
