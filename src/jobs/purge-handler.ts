import { type Purge, purgeKind } from '../store/containers.ts'
import { purgeContainer } from '../store/purge.ts'
import type { JobHandler } from './handler.ts'

/** Deletes what was in a collection that was deleted. Each part is gone for good: an attempt goes on where one ended. */
export const purgeHandler: JobHandler = {
  kind: purgeKind,
  retryAfterSeconds: [60, 600, 3600, 24 * 3600],
  limitSeconds: 3600,
  run: ({ payload }, { group }) => purgeContainer(group, (payload as Purge).containerId),
}
