import { createBoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import {
  type Answer,
  compressForm,
  type EncodedContent,
  type Form,
  leastCompressedBytes,
  makeAnswer,
} from './answer.ts'
import {
  bytesPerText,
  createAnswerMemory,
  type KeptAnswer,
  type MemoryCounts,
  type Shelf,
  sizeOf,
} from './answer-memory.ts'
import { createEncodingReader, type Preference } from './encodings.ts'

/** Of so many groups it is known which revision they have; of more than can be busy at once. */
const mostGroups = 10_000
/** Threads that compress are also those on which writes wait for the disk: some are left to them. */
const mostCompressions = 2

/** What is asked for, and for whom. */
export interface Question {
  groupId: string
  /** All that an answer depends on besides the group's content. */
  scope: string
  route: string
  /** As it was read: unknown parameters are gone. */
  query: object
  /** As it was sent. */
  url: string
}

export type { KeptAnswer }

/** What the cache counts of itself. */
export interface CacheCounts extends MemoryCounts {
  hits: number
  misses: number
  joined: number
}

type Make = (nowMs: number) => Promise<EncodedContent>

/** What there is of one group; all of it is of the revision that is known. */
interface Part {
  /** Undefined as long as nobody can tell. */
  revision: number | undefined
  /** When the revision was asked for. */
  askedMs: number
  shelf: Shelf
  running: Map<string, Promise<KeptAnswer>>
}

/**
 * Finished answers. One is right for one revision of its group's content and for a span of time. Which revision is the
 * current one is heard from writes of this process, at once, and from look-ups, which are at most a second old.
 */
export interface AnswerCache {
  readonly counts: CacheCounts
  /** Whether each answer is of use to the one who has asked for it, and to nobody else. */
  readonly keepsNothing: boolean
  /** Tells which revision a group's content has, as it was asked for at a moment of `performance.now()` or later. */
  observe(groupId: string, revision: number, askedMs: number): void
  /** Tells the same of a revision that this process has just committed. */
  observeWrite(groupId: string, revision: number): void
  /** What can be sent at once; `use` says that it was. */
  peek(groupId: string, scope: string, url: string, nowMs: number): KeptAnswer | undefined
  use(answer: KeptAnswer): void
  /** The answer that is right at this moment: kept, in the making for somebody else, or made now. */
  find(question: Question, make: Make): Promise<KeptAnswer>
  /** The form that suits a client best by its `Accept-Encoding`; it is made when somebody wants it. */
  formOf(answer: KeptAnswer, acceptEncoding: string | undefined): Promise<Form>
  /** The same, if it is there. */
  peekForm(answer: KeptAnswer, acceptEncoding: string | undefined): Form | undefined
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

/** The same for all ways to ask the same: the order of parameters makes no difference, nor that of a filter's values. */
function keyOf({ scope, route, query }: Question): string {
  return `${scope} ${route} ${JSON.stringify(sorted(query))}`
}

const isRightAt = ({ fromMs, untilMs }: Answer, nowMs: number): boolean => fromMs <= nowMs && nowMs < untilMs

function formAtHand({ forms }: KeptAnswer, { encoding, refusesIdentity }: Preference): Form | undefined {
  const isSmall = forms.identity.body.length < leastCompressedBytes
  return isSmall && !refusesIdentity ? forms.identity : forms[encoding]
}

export function createAnswerCache({ mostBytes, clock }: { mostBytes: number; clock: Clock }): AnswerCache {
  const memory = createAnswerMemory(mostBytes)
  const counts = Object.assign(memory.counts, { hits: 0, misses: 0, joined: 0 })
  const readEncoding = createEncodingReader()
  let compressions = 0
  /** What was asked for before this moment may be older than what a forgotten part knew. */
  let forgottenMs = 0
  const parts = createBoundedMap<string, Part>(mostGroups, ({ shelf, askedMs }) => {
    memory.empty(shelf)
    forgottenMs = Math.max(forgottenMs, askedMs)
  })

  function partOf(groupId: string): Part {
    const known = parts.get(groupId)
    if (known) return known
    const part = { revision: undefined, askedMs: forgottenMs, shelf: memory.openShelf(), running: new Map() }
    parts.set(groupId, part)
    return part
  }

  function learn(groupId: string, revision: number | undefined, askedMs: number): void {
    const part = partOf(groupId)
    part.askedMs = askedMs
    if (part.revision === revision) return
    part.revision = revision
    memory.empty(part.shelf)
    part.running = new Map() // who comes from now on does not wait for what was begun before
  }

  function observe(groupId: string, revision: number, askedMs: number): void {
    if (askedMs >= partOf(groupId).askedMs) learn(groupId, revision, askedMs)
  }

  function use(answer: KeptAnswer): void {
    counts.hits += 1
    answer.isWanted = true
    memory.touch(partOf(answer.groupId).shelf, answer)
  }

  function toKeep(answer: Answer, { groupId, scope, route }: Question, key: string): KeptAnswer {
    const bytes = sizeOf(answer, key)
    return { ...answer, groupId, scope, route, key, urls: [], compressing: new Map(), bytes, isWanted: false }
  }

  async function makeAndKeep(question: Question, key: string, make: Make): Promise<KeptAnswer> {
    const askedMs = performance.now()
    const nowMs = clock()
    const answer = toKeep(makeAnswer(await make(nowMs), nowMs), question, key)
    observe(question.groupId, answer.revision, askedMs)
    const { revision, shelf } = partOf(question.groupId)
    if (revision === answer.revision && answer.fromMs < answer.untilMs) memory.put(shelf, answer)
    return answer
  }

  function begin(question: Question, key: string, make: Make): Promise<KeptAnswer> {
    const { running } = partOf(question.groupId)
    const work = makeAndKeep(question, key, make)
    running.set(key, work)
    const end = (): void => {
      if (running.get(key) === work) running.delete(key)
    }
    work.then(end, end)
    return work
  }

  /** Waits for what another has begun; undefined when that is not right for who came at this moment. */
  async function join(groupId: string, running: Promise<KeptAnswer>, nowMs: number): Promise<KeptAnswer | undefined> {
    const answer = await running.catch((error) => {
      if (error instanceof AppError && error.code === 'Unavailable') throw error // the same work would only be given up again
      return undefined // any other failure of before is none of ours
    })
    if (!answer || !isRightAt(answer, nowMs) || partOf(groupId).revision !== answer.revision) return undefined
    counts.joined += 1
    answer.isWanted = true
    return answer
  }

  async function findOrMake(question: Question, key: string, make: Make): Promise<KeptAnswer> {
    const { groupId } = question
    const nowMs = clock()
    const { shelf, running } = partOf(groupId)
    const kept = shelf.answers.get(key)
    if (kept && isRightAt(kept, nowMs)) {
      use(kept)
      return kept
    }
    const begun = running.get(key)
    const joined = begun && (await join(groupId, begun, nowMs))
    if (joined) return joined
    counts.misses += 1
    // What is in the making now was begun after we came, so it is right for us, whatever happens meanwhile.
    return partOf(groupId).running.get(key) ?? begin(question, key, make)
  }

  async function compress(answer: KeptAnswer, encoding: 'br' | 'gzip'): Promise<Form> {
    const { identity } = answer.forms
    compressions += 1
    try {
      const form = await compressForm(identity, encoding)
      answer.forms[encoding] = form
      if (form !== identity) memory.grow(partOf(answer.groupId).shelf, answer, form.body.length + bytesPerText)
      return form
    } finally {
      compressions -= 1
      answer.compressing.delete(encoding)
    }
  }

  /** An answer that was asked for once is not worth it, nor is one that is not kept. */
  const isWorthCompressing = (answer: KeptAnswer, { refusesIdentity }: Preference): boolean =>
    (answer.isWanted || refusesIdentity) &&
    compressions < mostCompressions &&
    memory.holds(partOf(answer.groupId).shelf, answer)

  const keepsNothing = mostBytes === 0
  return {
    counts,
    keepsNothing,
    observe,
    observeWrite(groupId, revision) {
      const known = partOf(groupId).revision
      // Less than the known one: others have written meanwhile, or a backup was restored. Who knows.
      learn(groupId, known !== undefined && revision < known ? undefined : revision, performance.now())
    },
    peek(groupId, scope, url, nowMs) {
      const answer = parts.get(groupId)?.shelf.byUrl.get(url)
      return answer && answer.scope === scope && isRightAt(answer, nowMs) ? answer : undefined
    },
    use,
    async find(question, make) {
      const { groupId, url } = question
      if (keepsNothing) return toKeep(makeAnswer(await make(clock()), clock()), question, '')
      const answer = await findOrMake(question, keyOf(question), make)
      memory.noteUrl(partOf(groupId).shelf, answer, url)
      return answer
    },
    async formOf(answer, acceptEncoding) {
      const preference = readEncoding(acceptEncoding)
      const { encoding } = preference
      const { identity } = answer.forms
      const atHand = formAtHand(answer, preference)
      if (atHand || encoding === 'identity') return atHand ?? identity
      const begun = answer.compressing.get(encoding)
      if (begun) return begun
      if (!isWorthCompressing(answer, preference)) return identity
      const form = compress(answer, encoding)
      answer.compressing.set(encoding, form)
      return form
    },
    peekForm: (answer, acceptEncoding) => formAtHand(answer, readEncoding(acceptEncoding)),
  }
}
