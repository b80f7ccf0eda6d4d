import {
  type CacheEntry,
  type CachePartition,
  createFairCache,
  type CacheCounts as FairCacheCounts,
} from '../cache/fair-cache.ts'
import { createLruMap } from '../cache/lru-map.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import {
  type Answer,
  compressForm,
  createEncodingReader,
  type EncodedContent,
  type Form,
  leastCompressedBytes,
  makeAnswer,
  type Preference,
} from './answer.ts'

/** More groups than can be busy at once; for the others the revision is read again. */
const maxGroups = 10_000
/** Compression runs on the thread pool that also syncs writes to disk, so it must not take all of it. */
const maxCompressions = 2
/** A larger answer is not cached: it would evict too many others. */
const maxShareOfCache = 1 / 8
const maxUrlsPerAnswer = 8
const maxUrlLength = 2000
/** Estimated memory of an answer besides its bytes: objects, headers and map entries. */
const bytesPerAnswer = 1500
const bytesPerText = 60

/** A request with its tenant. */
export interface AnswerRequest {
  groupId: string
  /** Everything that an answer depends on besides the group's content. */
  scope: string
  route: string
  /** As parsed by the route's schema: without unknown parameters. */
  query: object
  /** As sent by the client. */
  url: string
}

export interface CachedAnswer extends Answer, CacheEntry {
  readonly groupId: string
  readonly scope: string
  readonly route: string
  /** The URLs that gave this answer: a request with one of them needs no parsing. */
  readonly urls: string[]
  /** Compressions in progress. */
  readonly compressing: Map<string, Promise<Form>>
  /** Requested more than once, so worth compressing. */
  isWanted: boolean
}

export interface CacheCounts extends FairCacheCounts {
  hits: number
  misses: number
  joined: number
}

type Make = (nowMs: number) => Promise<EncodedContent>

/** The answers of one group at its current revision. */
interface GroupCache {
  /** Undefined while it is unknown. */
  revision: number | undefined
  /** When the revision was read. */
  readAtMs: number
  answers: CachePartition<CachedAnswer>
  byUrl: Map<string, CachedAnswer>
  /** Answers being built, which other requests join. */
  running: Map<string, Promise<CachedAnswer>>
}

/**
 * Caches finished answers. An answer is valid for one revision of its group's content and for a span of time. The current
 * revision comes from writes of this process, at once, and from lookups, which are at most a second old.
 */
export interface AnswerCache {
  readonly counts: CacheCounts
  /** Whether each answer is used by the request that made it, and by no other. */
  readonly isOff: boolean
  /** Sets the revision of a group's content, read at a time of `performance.now()` or later. */
  observe(groupId: string, revision: number, readAtMs: number): void
  /** Sets a revision that this process has just committed. */
  observeWrite(groupId: string, revision: number): void
  /** An answer that can be sent at once; call `use` when it was. */
  peek(groupId: string, scope: string, url: string, nowMs: number): CachedAnswer | undefined
  use(answer: CachedAnswer): void
  /** The current answer: from the cache, shared with a request that is building it, or built now. */
  find(request: AnswerRequest, make: Make): Promise<CachedAnswer>
  /** The best form by the client's `Accept-Encoding`, compressed on demand. */
  formOf(answer: CachedAnswer, acceptEncoding: string | undefined): Promise<Form>
  /** The same, if it needs no compression. */
  peekForm(answer: CachedAnswer, acceptEncoding: string | undefined): Form | undefined
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return [...value].sort()
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  )
}

/** Equal for equivalent requests, regardless of the order of parameters and of a filter's values. */
const keyOf = ({ scope, route, query }: AnswerRequest): string => `${scope} ${route} ${JSON.stringify(sorted(query))}`

const isValidAt = ({ fromMs, untilMs }: Answer, nowMs: number): boolean => fromMs <= nowMs && nowMs < untilMs

function readyForm({ forms }: CachedAnswer, { encoding, refusesIdentity }: Preference): Form | undefined {
  const isSmall = forms.identity.body.length < leastCompressedBytes
  return isSmall && !refusesIdentity ? forms.identity : forms[encoding]
}

function toCached(answer: Answer, { groupId, scope, route }: AnswerRequest, key: string): CachedAnswer {
  const bytes = answer.forms.identity.body.length + key.length + bytesPerText + bytesPerAnswer
  return { ...answer, groupId, scope, route, key, urls: [], compressing: new Map(), bytes, isWanted: false }
}

export function createAnswerCache({ maxBytes, clock }: { maxBytes: number; clock: Clock }): AnswerCache {
  const cache = createFairCache<CachedAnswer>(maxBytes, maxBytes * maxShareOfCache)
  const counts = Object.assign(cache.counts, { hits: 0, misses: 0, joined: 0 })
  const readEncoding = createEncodingReader()
  let compressions = 0
  /** A revision read before this time may be older than the last one of an evicted group. */
  let evictedMs = 0
  const groups = createLruMap<string, GroupCache>(maxGroups, ({ answers, readAtMs }) => {
    answers.clear()
    evictedMs = Math.max(evictedMs, readAtMs)
  })

  function groupOf(groupId: string): GroupCache {
    const known = groups.get(groupId)
    if (known) return known
    const answers = cache.openPartition((answer) => {
      for (const url of answer.urls) if (group.byUrl.get(url) === answer) group.byUrl.delete(url)
    })
    const group: GroupCache = {
      revision: undefined,
      readAtMs: evictedMs,
      answers,
      byUrl: new Map(),
      running: new Map(),
    }
    groups.set(groupId, group)
    return group
  }

  function setRevision(groupId: string, revision: number | undefined, readAtMs: number): void {
    const group = groupOf(groupId)
    group.readAtMs = readAtMs
    if (group.revision === revision) return
    group.revision = revision
    group.answers.clear()
    group.byUrl = new Map()
    group.running = new Map() // later requests do not join earlier work
  }

  function observe(groupId: string, revision: number, readAtMs: number): void {
    if (readAtMs >= groupOf(groupId).readAtMs) setRevision(groupId, revision, readAtMs)
  }

  function use(answer: CachedAnswer): void {
    counts.hits += 1
    answer.isWanted = true
    groupOf(answer.groupId).answers.get(answer.key) // marks it as recently used
  }

  async function makeAndCache(request: AnswerRequest, key: string, make: Make): Promise<CachedAnswer> {
    const readAtMs = performance.now()
    const nowMs = clock()
    const answer = toCached(makeAnswer(await make(nowMs), nowMs), request, key)
    observe(request.groupId, answer.revision, readAtMs)
    const { revision, answers } = groupOf(request.groupId)
    if (revision === answer.revision && answer.fromMs < answer.untilMs) answers.set(answer)
    return answer
  }

  function begin(request: AnswerRequest, key: string, make: Make): Promise<CachedAnswer> {
    const { running } = groupOf(request.groupId)
    const work = makeAndCache(request, key, make)
    running.set(key, work)
    const end = (): void => {
      if (running.get(key) === work) running.delete(key)
    }
    work.then(end, end)
    return work
  }

  /** Waits for the answer of another request; undefined if it is not valid for this one. */
  async function join(
    groupId: string,
    running: Promise<CachedAnswer>,
    nowMs: number,
  ): Promise<CachedAnswer | undefined> {
    const answer = await running.catch((error) => {
      if (error instanceof AppError && error.code === 'Unavailable') throw error // the same work would time out again
      return undefined // any other failure belongs to the other request
    })
    if (!answer || !isValidAt(answer, nowMs) || groupOf(groupId).revision !== answer.revision) return undefined
    counts.joined += 1
    answer.isWanted = true
    return answer
  }

  async function findOrMake(request: AnswerRequest, key: string, make: Make): Promise<CachedAnswer> {
    const { groupId } = request
    const nowMs = clock()
    const { answers, running } = groupOf(groupId)
    const cached = answers.get(key)
    if (cached && isValidAt(cached, nowMs)) {
      use(cached)
      return cached
    }
    const begun = running.get(key)
    const joined = begun && (await join(groupId, begun, nowMs))
    if (joined) return joined
    counts.misses += 1
    // Anything running now began after this request arrived, and so is valid for it.
    return groupOf(groupId).running.get(key) ?? begin(request, key, make)
  }

  function noteUrl(answer: CachedAnswer, url: string): void {
    const { answers, byUrl } = groupOf(answer.groupId)
    if (url.length > maxUrlLength || byUrl.get(url) === answer || !answers.has(answer)) return
    const oldest = answer.urls.length >= maxUrlsPerAnswer ? answer.urls.shift() : undefined
    if (oldest !== undefined) {
      byUrl.delete(oldest)
      answers.resize(answer, -(oldest.length + bytesPerText))
    }
    answer.urls.push(url)
    byUrl.set(url, answer)
    answers.resize(answer, url.length + bytesPerText)
  }

  async function compress(answer: CachedAnswer, encoding: 'br' | 'gzip'): Promise<Form> {
    const { identity } = answer.forms
    compressions += 1
    try {
      const form = await compressForm(identity, encoding)
      answer.forms[encoding] = form
      if (form !== identity) groupOf(answer.groupId).answers.resize(answer, form.body.length + bytesPerText)
      return form
    } finally {
      compressions -= 1
      answer.compressing.delete(encoding)
    }
  }

  /** Only answers that are cached and were requested more than once are worth compressing. */
  const isWorthCompressing = (answer: CachedAnswer, { refusesIdentity }: Preference): boolean =>
    (answer.isWanted || refusesIdentity) &&
    compressions < maxCompressions &&
    groupOf(answer.groupId).answers.has(answer)

  const isOff = maxBytes === 0
  return {
    counts,
    isOff,
    observe,
    observeWrite(groupId, revision) {
      const known = groupOf(groupId).revision
      // Lower than the known one: either outdated, or a backup was restored. These cannot be distinguished.
      setRevision(groupId, known !== undefined && revision < known ? undefined : revision, performance.now())
    },
    peek(groupId, scope, url, nowMs) {
      const answer = groups.get(groupId)?.byUrl.get(url)
      return answer && answer.scope === scope && isValidAt(answer, nowMs) ? answer : undefined
    },
    use,
    async find(request, make) {
      if (isOff) return toCached(makeAnswer(await make(clock()), clock()), request, '')
      const answer = await findOrMake(request, keyOf(request), make)
      noteUrl(answer, request.url)
      return answer
    },
    async formOf(answer, acceptEncoding) {
      const preference = readEncoding(acceptEncoding)
      const { encoding } = preference
      const { identity } = answer.forms
      const ready = readyForm(answer, preference)
      if (ready || encoding === 'identity') return ready ?? identity
      const begun = answer.compressing.get(encoding)
      if (begun) return begun
      if (!isWorthCompressing(answer, preference)) return identity
      const form = compress(answer, encoding)
      answer.compressing.set(encoding, form)
      return form
    },
    peekForm: (answer, acceptEncoding) => readyForm(answer, readEncoding(acceptEncoding)),
  }
}
