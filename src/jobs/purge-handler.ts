import { type Purge, purgeKind } from '../store/content/containers.ts'
import { purgeContainer } from '../store/content/purge.ts'
import type { JobHandler } from './handler.ts'
import { retryDelaysSeconds } from './retry-backoff.ts'

/** Deletes the content of a deleted collection. Each deleted part is final: an attempt continues where the last one ended. */
export const purgeHandler: JobHandler = {
  kind: purgeKind,
  retryDelaysSeconds: retryDelaysSeconds.purgeContainer,
  maxSeconds: 3600,
  run: ({ payload }, { group }) => purgeContainer(group, (payload as Purge).containerId),
}
