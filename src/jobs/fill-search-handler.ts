import { fillSearchIndex } from '../store/content/fill-search-index.ts'
import { fillSearchKind } from '../store/schema/migrations/content-search.ts'
import type { JobHandler } from './handler.ts'
import { retryDelaysSeconds } from './retry-backoff.ts'

/** Enters existing objects into the search index. Each step is final: an attempt continues where the last one ended. */
export const fillSearchHandler: JobHandler = {
  kind: fillSearchKind,
  retryDelaysSeconds: retryDelaysSeconds.fillSearchIndex,
  maxSeconds: 3600,
  run: (_, { group, signal }) => fillSearchIndex(group, signal),
}
