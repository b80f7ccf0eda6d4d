import { toCsvLine } from '../content/csv-line.ts'
import { maxLimit } from '../content/list-query.ts'
import { type ReviewState, reviewStates } from '../content/model.ts'
import { conflict } from '../errors.ts'
import { limitParameter, skipParameter } from '../http/parameters.ts'
import { changeObject } from '../store/change-objects.ts'
import { readByContainer } from '../store/containers.ts'
import type { FoundObject } from '../store/objects.ts'
import { eachPiece, listSubmissions, measureSubmissions, sumBytes } from '../store/submissions.ts'
import { Type } from '../type.ts'
import { collectionId, takeCollection } from './collections.ts'
import { objectShape, showObject } from './content-shapes.ts'
import { takeObject } from './object-actions.ts'
import { objectId } from './objects.ts'
import { listOf } from './shapes.ts'
import { defineGroupVerb, type Verb } from './verb.ts'

const filters = {
  collectionId: Type.Optional(collectionId),
  review: Type.Optional(Type.Enum([...reviewStates], { description: 'Only submissions in this state.' })),
}
/** A file that was cut short would look whole: more than this is refused. */
const maxExported = 50_000

function reviewVerb(word: 'approve' | 'reject', review: ReviewState, summary: string): Verb {
  return defineGroupVerb({
    name: `submission ${word}`,
    summary,
    needs: 'editor',
    route: `POST /manage/groups/:groupId/submissions/:objectId/${word}`,
    input: { objectId },
    answer: objectShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { container, object } = await takeObject(writer.group, input.objectId)
        if (object.review === null) throw conflict('This object is not a submission: nobody sent it in.')
        const wanted = { review, archived: review === 'rejected' }
        return showObject(container.id, await changeObject(writer, container, object, wanted, review), ctx.nowMs)
      }),
  })
}

/** A cell holds what a person would type: texts as they are, anything else as JSON. */
const cellOf = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

export const submissionVerbs = [
  defineGroupVerb({
    name: 'submission list',
    summary: 'Show what visitors sent in, newest first',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/submissions',
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
  reviewVerb('approve', 'approved', 'Let a submission be seen'),
  reviewVerb('reject', 'rejected', 'Keep a submission hidden'),
  defineGroupVerb({
    name: 'submission export',
    summary: 'Give the submissions of a collection as CSV',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/collections/:collectionId/submissions.csv',
    contentType: 'text/csv; charset=utf-8',
    input: { collectionId, review: filters.review },
    answer: Type.String({
      description: 'CSV with a header line; cells that a spreadsheet would run begin with an apostrophe.',
    }),
    async run({ ctx, input }) {
      const { content, nowMs, maxAnswerBytes } = ctx
      return readByContainer(
        content,
        () => takeCollection(content, input.collectionId),
        async (collection) => {
          const page = { ...input, limit: maxExported, skip: 0 }
          const { sizes, totalCount } = await measureSubmissions(content, page)
          if (totalCount > maxExported || sumBytes(sizes) > maxAnswerBytes) {
            const most = `more than the ${maxExported} or the ${maxAnswerBytes} bytes that one file takes`
            throw conflict(`There are ${totalCount} submissions, ${most}. Take them in pages, by "submission list".`)
          }
          const fields = [...collection.schema.keys()]
          const lineOf = ({ object }: FoundObject): string => {
            const { _id, review, createdAt, objectValue } = showObject(collection.id, object, nowMs)
            return toCsvLine([_id, review ?? '', createdAt, ...fields.map((name) => cellOf(objectValue[name]))])
          }
          const lines = [toCsvLine(['_id', 'review', 'createdAt', ...fields])]
          for await (const found of eachPiece(content, sizes)) lines.push(lineOf(found))
          return lines.join('')
        },
      )
    },
  }),
]
