import type { Static } from 'typebox'
import { maxLimit } from '../content/list-query.ts'
import { toIso } from '../content/moments.ts'
import { conflict, notFound } from '../errors.ts'
import { limitParameter } from '../http/parameters.ts'
import type { ContentChangeType, ContentWriter } from '../store/changes.ts'
import type { GroupStore } from '../store/groups.ts'
import { cancelJob, findJob, type Job, type JobQuery, jobStates, listJobs, retryJob } from '../store/jobs.ts'
import { type DeliverWork, deliverKind } from '../store/messages.ts'
import { Type } from '../type.ts'
import { id, isoOrNull, listOf, orNull } from './shapes.ts'
import { defineGroupVerb, defineServiceVerb, type GroupContext, type ServiceContext } from './verb.ts'

const jobShape = Type.Object({
  _id: Type.String(),
  groupId: Type.String(),
  kind: Type.String({ description: 'What there is to do, such as media.derive.' }),
  state: Type.Enum([...jobStates]),
  attempts: Type.Integer({ description: 'How often it was begun.' }),
  dueAt: orNull(
    Type.String({ description: 'When it is taken up; while it runs, when it is taken up by somebody else.' }),
  ),
  problem: orNull(Type.String({ description: 'Why the latest attempt failed.' })),
  payload: Type.Unknown({ description: 'What the work is about.' }),
  createdAt: Type.String(),
  finishedAt: orNull(Type.String()),
})

const showJob = (job: Job): Static<typeof jobShape> => ({
  _id: job.id,
  groupId: job.groupId,
  kind: job.kind,
  state: job.state,
  attempts: job.attempts,
  dueAt: isoOrNull(job.dueMs),
  problem: job.problem,
  payload: job.payload,
  createdAt: toIso(job.createdMs),
  finishedAt: isoOrNull(job.finishedMs),
})

const jobId = id('The job.')

async function takeJob(group: GroupStore, wantedId: string): Promise<Job> {
  const job = await findJob(group, wantedId)
  if (!job) throw notFound('There is no such job in this group. Done jobs are kept for 7 days, failed ones for 90.')
  return job
}

interface JobAction {
  name: 'retry' | 'cancel'
  change(writer: ContentWriter, id: string): Promise<boolean>
  type: ContentChangeType
  /** Which jobs it is for. */
  takes: string
}

/** What becomes of an e-mail is said to the e-mail, which takes its job along: the two never disagree. */
function refuseDelivery({ kind, payload }: Job, action: JobAction['name']): void {
  if (kind !== deliverKind) return
  const { mailId } = payload as DeliverWork // nobody else makes jobs of this kind
  throw conflict(`This job delivers the e-mail ${mailId}. Use "mail ${action}" with that id instead.`)
}

function changeJob({ write }: GroupContext, wantedId: string, { name, change, type, takes }: JobAction) {
  return write(async (writer) => {
    refuseDelivery(await takeJob(writer.group, wantedId), name)
    const isChanged = await change(writer, wantedId)
    const job = await takeJob(writer.group, wantedId)
    if (!isChanged) throw conflict(`The job is ${job.state}; only one that is ${takes} can be changed so.`)
    writer.record({ type, subjectId: job.id, note: job.kind })
    return showJob(job)
  })
}

const which = {
  state: Type.Optional(Type.Enum([...jobStates], { description: 'Only those in this state.' })),
  kind: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Only those of this kind.' })),
  limit: limitParameter,
  skip: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10_000, default: 0, description: 'How many to leave out first.' }),
  ),
}
const columns = ['_id', 'kind', 'state', 'attempts', 'dueAt', 'problem']

async function showJobs({ store }: ServiceContext, query: Partial<JobQuery>) {
  const { jobs, totalCount } = await listJobs(store, { limit: maxLimit, skip: 0, ...query })
  return { items: jobs.map(showJob), totalCount }
}

export const jobVerbs = [
  defineServiceVerb({
    name: 'jobs',
    summary: 'Show the work that waits, runs, is done or has failed, newest first',
    needs: 'administrator',
    route: 'GET /manage/jobs',
    input: { ...which, groupId: Type.Optional(id('Only those of this group.')) },
    answer: listOf(jobShape),
    columns: ['groupId', ...columns],
    run: ({ ctx, input }) => showJobs(ctx, input),
  }),
  defineGroupVerb({
    name: 'job list',
    summary: 'Show the work of one group, newest first',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/jobs',
    input: which,
    answer: listOf(jobShape),
    columns,
    run: ({ ctx, input }) => showJobs(ctx, { ...input, groupId: ctx.group.id }),
  }),
  defineGroupVerb({
    name: 'job show',
    summary: 'Show one piece of work, and why it failed',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/jobs/:jobId',
    input: { jobId },
    answer: jobShape,
    run: async ({ ctx, input }) => showJob(await takeJob(ctx.content, input.jobId)),
  }),
  defineGroupVerb({
    name: 'job retry',
    summary: 'Begin anew, at once, what waits, has failed or was cancelled',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/jobs/:jobId/retry',
    input: { jobId },
    answer: jobShape,
    run: ({ ctx, input }) =>
      changeJob(ctx, input.jobId, {
        name: 'retry',
        change: retryJob,
        type: 'job.retried',
        takes: 'waiting, failed or cancelled',
      }),
  }),
  defineGroupVerb({
    name: 'job cancel',
    summary: 'Give up what waits or has failed',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/jobs/:jobId/cancel',
    input: { jobId },
    answer: jobShape,
    run: ({ ctx, input }) =>
      changeJob(ctx, input.jobId, {
        name: 'cancel',
        change: cancelJob,
        type: 'job.cancelled',
        takes: 'waiting or failed',
      }),
  }),
]
