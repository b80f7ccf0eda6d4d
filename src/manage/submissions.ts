import { toCsvLine } from '../content/csv-line.ts'
import { maxLimit } from '../content/list-query.ts'
import { type ReviewState, reviewStates } from '../content/model.ts'
import { conflict } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { limitParameter, skipParameter } from '../http/query.ts'
import { changeObject } from '../store/content/change-objects.ts'
import { readByContainer } from '../store/content/containers.ts'
import type { FoundObject } from '../store/content/objects.ts'
import { iterateSubmissions, listSubmissions, measureSubmissions, sumBytes } from '../store/content/submissions.ts'
import { collectionId, requireCollection } from './collections.ts'
import { requireObject } from './object-actions.ts'
import { objectShape, showObject } from './object-shapes.ts'
import { objectId } from './objects.ts'
import { listOf } from './shapes.ts'
import { defineGroupVerb, type Verb } from './verb.ts'

const filters = {
  collectionId: Type.Optional(collectionId),
  review: Type.Optional(Type.Enum([...reviewStates], { description: 'Only submissions in this state.' })),
}
/** A truncated file would look complete, so more than this is refused. */
const maxExported = 50_000

function reviewVerb(word: 'approve' | 'reject', review: ReviewState, summary: string): Verb {
  return defineGroupVerb({
    name: `submission ${word}`,
    summary,
    input: { objectId },
    answer: objectShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { container, object } = await requireObject(writer.group, input.objectId)
        if (object.review === null) throw conflict('This object is not a submission of a visitor.')
        const wanted = { review, archived: review === 'rejected' }
        return showObject(container.id, await changeObject(writer, container, object, wanted, review), ctx.nowMs)
      }),
  })
}

/** The text of a cell: strings as they are, anything else as JSON. */
const cellOf = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

export const submissionVerbs = [
  defineGroupVerb({
    name: 'submission list',
    summary: 'Show the submissions of visitors, newest first',
    input: { ...filters, limit: limitParameter, skip: skipParameter },
    answer: listOf(objectShape),
    columns: ['_id', 'review', 'status', 'createdAt', 'objectValue'],
    async run({ ctx, input }) {
      const { submissions, totalCount } = await listSubmissions(
        ctx.content,
        { limit: maxLimit, skip: 0, ...input },
        ctx.maxAnswerBytes,
      )
      return {
        items: submissions.map(({ containerId, object }) => showObject(containerId, object, ctx.nowMs)),
        totalCount,
      }
    },
  }),
  reviewVerb('approve', 'approved', 'Approve a submission, which makes it visible'),
  reviewVerb('reject', 'rejected', 'Reject a submission, which hides it'),
  defineGroupVerb({
    name: 'submission export',
    summary: 'Export the submissions of a collection as CSV',
    contentType: 'text/csv; charset=utf-8',
    input: { collectionId, review: filters.review },
    answer: Type.String({
      description: 'CSV with a header line; cells that a spreadsheet would execute begin with an apostrophe.',
    }),
    async run({ ctx, input }) {
      const { content, nowMs, maxAnswerBytes } = ctx
      return readByContainer(
        content,
        () => requireCollection(content, input.collectionId),
        async (collection) => {
          const page = { ...input, limit: maxExported, skip: 0 }
          const { sizes, totalCount } = await measureSubmissions(content, page)
          if (totalCount > maxExported || sumBytes(sizes) > maxAnswerBytes) {
            const limit = `more than the ${maxExported} or the ${maxAnswerBytes} bytes of one file`
            throw conflict(`There are ${totalCount} submissions, ${limit}. Read them in pages, by "submission list".`)
          }
          const fields = [...collection.schema.keys()]
          const lineOf = ({ object }: FoundObject): string => {
            const { _id, review, createdAt, objectValue } = showObject(collection.id, object, nowMs)
            return toCsvLine([_id, review ?? '', createdAt, ...fields.map((name) => cellOf(objectValue[name]))])
          }
          const lines = [toCsvLine(['_id', 'review', 'createdAt', ...fields])]
          for await (const found of iterateSubmissions(content, sizes)) lines.push(lineOf(found))
          return lines.join('')
        },
      )
    },
  }),
]
