import type { Config } from '../config.ts'
import { type AnswerMeter, createAnswerMeter } from '../content/answer-limit.ts'
import type { CurrentFiles, Signing } from '../media/current-files.ts'
import type { ContentMemory } from '../store/content-memory.ts'
import { type GroupStore, openGroup, type Tenant } from '../store/groups.ts'
import type { Store } from '../store/open.ts'
import { type EncodedContent, encodeContent } from './answer.ts'
import type { Content } from './content.ts'
import type { Timing } from './timing.ts'

/** One question to an endpoint: whose it is, what is asked, and the group's own content and signatures. */
export interface ReadCall<Query> {
  tenant: Tenant
  group: GroupStore
  /** What this thread remembers of content. */
  memory: ContentMemory
  /** Makes ready the files that are to be delivered, as of when the keys were read. */
  signing(keys: readonly string[], at?: { group: GroupStore; mediaRevision: number }): Promise<Signing>
  /** Counts what an answer becomes, from nothing on: one for each attempt to make it. */
  newMeter(): AnswerMeter
  query: Query
  nowMs: number
}

/** Finds content. It depends on nothing but the tenant, the query, the group's revision and the moment. */
export type ReadContent<Query> = (call: ReadCall<Query>) => Promise<Content>

/** What content is read with. */
export interface ReadDeps {
  store: Pick<Store, 'content'>
  memory: ContentMemory
  currentFiles: CurrentFiles
  config: Pick<Config, 'maxAnswerBytes'>
}

export async function readCallOf<Query>(
  { store, memory, currentFiles, config }: ReadDeps,
  { tenant, query, timing }: { tenant: Tenant; query: Query; timing?: Timing | undefined },
  nowMs: number,
): Promise<ReadCall<Query>> {
  const group = await openGroup(store, tenant)
  return {
    tenant,
    group,
    memory,
    async signing(keys, at) {
      timing?.begin('sign')
      const moment = at && { ...at, nowMs }
      const signing = await currentFiles.prepare(at?.group ?? group, tenant.bucketName, keys, moment)
      timing?.begin('read')
      return signing
    },
    newMeter: () => createAnswerMeter(config.maxAnswerBytes),
    query,
    nowMs,
  }
}

/** What is asked of a content endpoint, and by whom: all that an answer is made from, but the moment. */
export interface Asked {
  /** The endpoint's path. */
  route: string
  tenant: Tenant
  /** As the endpoint's schema has read it. */
  query: object
}

export type MakeContent = (asked: Asked, nowMs: number, timing?: Timing) => Promise<EncodedContent>

/** By their paths. Each is given only what its own schema has read. */
export type ContentReads = Readonly<Record<string, ReadContent<never>>>

/** Makes content in the thread that asks for it. */
export function createContentMaker(reads: ContentReads, deps: ReadDeps): MakeContent {
  return async ({ route, tenant, query }, nowMs, timing) => {
    const read = reads[route] as ReadContent<object> | undefined
    if (!read) throw new Error(`There is no content at ${route}.`)
    const content = await read(await readCallOf(deps, { tenant, query, timing }, nowMs))
    timing?.begin('serialise')
    return encodeContent(content, deps.config.maxAnswerBytes)
  }
}
