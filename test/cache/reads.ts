import assert from 'node:assert/strict'
import type { Question } from './compare.ts'
import type { RawAnswer } from './instances.ts'
import { findPossible, type Possible, recognise } from './judge.ts'
import { anyKeyOf, nameOf, note, type Scene, slotOf } from './scene.ts'
import type { Read } from './script.ts'
import type { Side } from './side.ts'
import { spell } from './targets.ts'

/** How many of the requested targets are checked again after a write. */
const recheckedTargets = 3

const plainRead: Omit<Read, 'at' | 'key' | 'target'> = {
  kind: 'read',
  isFormerKey: false,
  spelling: 0,
  method: 'GET',
  acceptEncoding: undefined,
  cachedTags: 'none',
  times: 1,
  atOnce: 1,
}

function ifNoneMatchOf(side: Side, { target, cachedTags }: Read): string | undefined {
  const etags = side.etags.get(target) ?? []
  if (cachedTags === 'any') return '*'
  if (cachedTags === 'last') return etags.at(-1)
  if (cachedTags === 'former') return etags.at(-2)
  return cachedTags === 'several' && etags.length > 0 ? `"x", W/${etags.slice(-3).join(', ')}` : undefined
}

function secretOf(scene: Scene, { key, isFormerKey }: Read): string {
  const { slot } = slotOf(scene, key)
  return (isFormerKey && slot.former) || slot.key
}

/** A request and its answer. */
export interface Asked {
  question: Question
  answer: RawAnswer
  /** The line for the trace. */
  line: string
}

export async function ask(scene: Scene, read: Read): Promise<Asked> {
  const { at, key, target, method, acceptEncoding, spelling } = read
  const { side } = slotOf(scene, key)
  const ifNoneMatch = ifNoneMatchOf(side, read)
  const path = spell(side.targets[target] ?? assert.fail(), spelling)
  const answer = await scene.cluster.instances[at].send(path, {
    method,
    headers: {
      authorization: secretOf(scene, read),
      ...(acceptEncoding && { 'accept-encoding': acceptEncoding }),
      ...(ifNoneMatch && { 'if-none-match': ifNoneMatch }),
    },
  })
  const how = `${acceptEncoding ?? 'plain'}, ${ifNoneMatch ?? 'no ETag'}`
  const line = `${nameOf(scene, at)}, key ${key}: ${method} ${path} (${how}) → ${answer.status} ${answer.headers.etag ?? ''}`
  return { question: { method, acceptEncoding, ifNoneMatch }, answer, line }
}

/** The permitted answers of a process that has seen the writes to content up to this one. */
export function possibleFor(scene: Scene, read: Read, oldestSeen?: number): Promise<Possible[]> {
  const { side } = slotOf(scene, read.key)
  return findPossible(scene.cluster, side, read.target, secretOf(scene, read), oldestSeen ?? side.own[read.at])
}

function failWith({ trace }: Scene, { answer }: Asked, possible: readonly Possible[]): never {
  const { status, headers, body } = answer
  const wanted = possible.map(
    (one) => `${one.staleMs ?? 'now'}: ${one.answer.status} ${one.answer.etag} ${one.answer.body}`,
  )
  const got = `${status} ${JSON.stringify(headers)} ${headers['content-encoding'] ? '…' : body}`
  assert.fail(`The last answer is wrong:\n${trace.join('\n')}\nReceived:\n${got}\nPermitted:\n${wanted.join('\n')}`)
}

/** Fails unless the answer is one of the permitted ones. */
export function judge(scene: Scene, read: Read, possible: readonly Possible[], asked: Asked): void {
  const { figures } = scene
  const { asked: targets, etags } = slotOf(scene, read.key).side
  note(scene, asked.line)
  const found = recognise(asked.answer, possible, asked.question) ?? failWith(scene, asked, possible)
  figures.compared += 1
  if (found.staleMs !== undefined) {
    figures.stale += 1
    figures.oldestStaleMs = Math.max(figures.oldestStaleMs, found.staleMs)
  }
  targets.delete(read.target)
  targets.add(read.target)
  const { etag } = asked.answer.headers
  const known = etags.get(read.target) ?? []
  if (etag !== undefined && etag !== known.at(-1)) etags.set(read.target, [...known, etag])
}

export async function playRead(scene: Scene, read: Read): Promise<void> {
  const possible = await possibleFor(scene, read)
  for (let time = 0; time < read.times; time += 1) {
    const answers = await Promise.all(Array.from({ length: read.atOnce }, () => ask(scene, read)))
    for (const answer of answers) judge(scene, read, possible, answer)
  }
}

/** Records the correct answers to all requested targets: a process that has not seen a later write may still send them. */
export async function recordTruths(scene: Scene): Promise<void> {
  for (const side of scene.sides) {
    const key = anyKeyOf(scene, side)
    for (const target of side.asked) await possibleFor(scene, { ...plainRead, at: 0, key, target })
  }
}

/** Requests some of the earlier targets again, from both processes. */
export async function recheck(scene: Scene, side: Side, most = recheckedTargets): Promise<void> {
  const key = anyKeyOf(scene, side)
  for (const target of [...side.asked].slice(-most))
    for (const at of [0, 1] as const) await playRead(scene, { ...plainRead, at, key, target })
}
