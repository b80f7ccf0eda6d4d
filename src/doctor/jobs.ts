import { minuteMs } from '../core/clock.ts'
import { countFailedJobs, findFailedJobs, findOverdueJobs } from '../store/checks/queues.ts'
import { deliverKind } from '../store/mail/messages.ts'
import { attention, type Check, type CheckedGroup, type DoctorContext, type Finding } from './check.ts'
import { counted, inTime, maxExamples } from './format.ts'

const overdueAfterMs = 10 * minuteMs

async function findFailed({ group, content }: CheckedGroup): Promise<Finding[]> {
  const kinds = await countFailedJobs(content, deliverKind)
  const total = kinds.reduce((sum, { count }) => sum + count, 0)
  const [first, ...others] = await findFailedJobs(content, deliverKind, maxExamples)
  if (!first) return []
  const byKind = kinds.map(({ kind, count }) => `${count} of ${kind}`).join(', ')
  return attention({
    what: `${counted(total, 'job')} of ${group.name} failed: ${byKind}.`,
    examples: [first, ...others].map(({ id, kind, problem }) => `${kind} ${id}: ${problem ?? 'no reason is known'}`),
    advice: 'When the cause is gone, retry them; or cancel them, which also ends this finding:',
    commands: [`npx sluice job retry ${group.id} ${first.id}`, `npx sluice job cancel ${group.id} ${first.id}`],
  })
}

async function findWaiting(ctx: DoctorContext, groups: readonly CheckedGroup[]): Promise<Finding[]> {
  const nowMs = ctx.clock()
  const overdue = await Promise.all(groups.map(({ content }) => findOverdueJobs(content, nowMs - overdueAfterMs)))
  const total = overdue.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return []
  const sinceMs = Math.min(...overdue.map((one) => one.sinceMs))
  const { jobWorkers } = ctx.config
  return attention({
    what: `${counted(total, 'job')} should have begun by now, the first ${inTime(nowMs - sinceMs)} ago.`,
    advice:
      jobWorkers === 0
        ? 'JOB_WORKERS is 0 here, so another process must run them. Start one, or unset JOB_WORKERS and restart:'
        : 'No server is running, or it is overloaded. Start one, or let each run more jobs at once:',
    commands: [jobWorkers === 0 ? 'npx sluice serve' : `JOB_WORKERS=${jobWorkers * 2} npx sluice serve`],
  })
}

export const jobsCheck: Check = {
  name: 'Jobs',
  async run(ctx) {
    const groups = await ctx.groups()
    const failed: Finding[] = []
    for (const checked of groups) failed.push(...(await findFailed(checked)))
    return [...failed, ...(await findWaiting(ctx, groups))]
  },
}
