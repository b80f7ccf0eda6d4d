import type { JobHandler } from '../../src/jobs/handler.ts'

// Apart from the workshop, whose service the separate processes need not load.

export const testKind = 'test.work'

/** A handler with three attempts. */
export const handlerOf = (run: JobHandler['run'], more: Partial<JobHandler> = {}): JobHandler => ({
  kind: testKind,
  run,
  retryDelaysSeconds: [10, 100],
  maxSeconds: 60,
  ...more,
})

/** Records one change with the payload's number. */
export const leaveEffect: JobHandler['run'] = ({ payload }, { finish }) =>
  finish(async (writer) =>
    writer.record({ type: 'content.updated', subjectId: `effect ${(payload as { n: number }).n}` }),
  )
