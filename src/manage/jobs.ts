import type { Static } from 'typebox'
import { maxLimit } from '../content/list-query.ts'
import { toIso } from '../content/moments.ts'
import { conflict, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { limitParameter } from '../http/query.ts'
import type { ContentChangeType, ContentWriter } from '../store/content/changes.ts'
import { cancelJob, findJob, type Job, type JobQuery, jobStates, listJobs, retryJob } from '../store/jobs/jobs.ts'
import { type DeliverWork, deliverKind } from '../store/mail/messages.ts'
import type { GroupStore } from '../store/store.ts'
import { id, isoOrNull, listOf, orNull } from './shapes.ts'
import { defineGroupVerb, defineServiceVerb, type GroupContext, type ServiceContext } from './verb.ts'

const jobShape = Type.Object({
  _id: Type.String(),
  groupId: Type.String(),
  kind: Type.String({ description: 'The kind of work, such as media.derive.' }),
  state: Type.Enum([...jobStates]),
  attempts: Type.Integer({ description: 'How many attempts were begun.' }),
  dueAt: orNull(Type.String({ description: 'When it is due; while it runs, when its lease expires.' })),
  problem: orNull(Type.String({ description: 'Why the latest attempt failed.' })),
  payload: Type.Unknown({ description: 'The input of the work.' }),
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

async function requireJob(group: GroupStore, wantedId: string): Promise<Job> {
  const job = await findJob(group, wantedId)
  if (!job) throw notFound('There is no such job in this group. Done jobs are kept for 7 days, failed ones for 90.')
  return job
}

interface JobAction {
  name: 'retry' | 'cancel'
  change(writer: ContentWriter, id: string): Promise<boolean>
  type: ContentChangeType
  applicableTo: string
}

/** A delivery is changed through its e-mail, which also changes the job, so that both stay consistent. */
function refuseDelivery({ kind, payload }: Job, action: JobAction['name']): void {
  if (kind !== deliverKind) return
  const { mailId } = payload as DeliverWork // only e-mails have jobs of this kind
  throw conflict(`This job delivers the e-mail ${mailId}. Use "mail ${action}" with that id instead.`)
}

function changeJob({ write }: GroupContext, wantedId: string, { name, change, type, applicableTo }: JobAction) {
  return write(async (writer) => {
    refuseDelivery(await requireJob(writer.group, wantedId), name)
    const isChanged = await change(writer, wantedId)
    const job = await requireJob(writer.group, wantedId)
    if (!isChanged) throw conflict(`The job is ${job.state}; only a ${applicableTo} job can be changed this way.`)
    writer.record({ type, subjectId: job.id, note: job.kind })
    return showJob(job)
  })
}

const jobFilters = {
  state: Type.Optional(Type.Enum([...jobStates], { description: 'Only those in this state.' })),
  kind: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Only those of this kind.' })),
  limit: limitParameter,
  skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, default: 0, description: 'How many to skip.' })),
}
const columns = ['_id', 'kind', 'state', 'attempts', 'dueAt', 'problem']

async function showJobs({ store }: ServiceContext, query: Partial<JobQuery>) {
  const { jobs, totalCount } = await listJobs(store, { limit: maxLimit, skip: 0, ...query })
  return { items: jobs.map(showJob), totalCount }
}

export const jobVerbs = [
  defineServiceVerb({
    name: 'jobs',
    summary: 'Show the jobs of all groups, newest first',
    input: { ...jobFilters, groupId: Type.Optional(id('Only those of this group.')) },
    answer: listOf(jobShape),
    columns: ['groupId', ...columns],
    run: ({ ctx, input }) => showJobs(ctx, input),
  }),
  defineGroupVerb({
    name: 'job list',
    summary: 'Show the jobs of one group, newest first',
    input: jobFilters,
    answer: listOf(jobShape),
    columns,
    run: ({ ctx, input }) => showJobs(ctx, { ...input, groupId: ctx.group.id }),
  }),
  defineGroupVerb({
    name: 'job show',
    summary: 'Show one job, and why it failed',
    input: { jobId },
    answer: jobShape,
    run: async ({ ctx, input }) => showJob(await requireJob(ctx.content, input.jobId)),
  }),
  defineGroupVerb({
    name: 'job retry',
    summary: 'Run a waiting, failed or cancelled job at once',
    input: { jobId },
    answer: jobShape,
    run: ({ ctx, input }) =>
      changeJob(ctx, input.jobId, {
        name: 'retry',
        change: retryJob,
        type: 'job.retried',
        applicableTo: 'waiting, failed or cancelled',
      }),
  }),
  defineGroupVerb({
    name: 'job cancel',
    summary: 'Cancel a waiting or failed job',
    input: { jobId },
    answer: jobShape,
    run: ({ ctx, input }) =>
      changeJob(ctx, input.jobId, {
        name: 'cancel',
        change: cancelJob,
        type: 'job.cancelled',
        applicableTo: 'waiting or failed',
      }),
  }),
]
