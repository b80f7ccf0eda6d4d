import assert from 'node:assert/strict'
import type { Question } from './compare.ts'
import type { RawAnswer } from './instances.ts'
import { findPossible, type Possible, recognise } from './judge.ts'
import { anyKeyOf, nameOf, note, type Scene, slotOf } from './scene.ts'
import type { Read } from './script.ts'
import type { Side } from './side.ts'
import { spell } from './targets.ts'

/** After a write so many of the targets that were asked for are looked at again. */
const lookedAtAgain = 3

const plainRead: Omit<Read, 'at' | 'key' | 'target'> = {
  kind: 'read',
  isFormerKey: false,
  spelling: 0,
  method: 'GET',
  acceptEncoding: undefined,
  knows: 'none',
  times: 1,
  atOnce: 1,
}

function knownTags(side: Side, { target, knows }: Read): string | undefined {
  const etags = side.etags.get(target) ?? []
  if (knows === 'any') return '*'
  if (knows === 'last') return etags.at(-1)
  if (knows === 'former') return etags.at(-2)
  return knows === 'several' && etags.length > 0 ? `"x", W/${etags.slice(-3).join(', ')}` : undefined
}

function secretOf(scene: Scene, { key, isFormerKey }: Read): string {
  const { slot } = slotOf(scene, key)
  return (isFormerKey && slot.former) || slot.key
}

/** A request and what came of it. */
export interface Asked {
  question: Question
  answer: RawAnswer
  /** As it is told in the trace. */
  line: string
}

export async function ask(scene: Scene, read: Read): Promise<Asked> {
  const { at, key, target, method, acceptEncoding, spelling } = read
  const { side } = slotOf(scene, key)
  const ifNoneMatch = knownTags(side, read)
  const path = spell(side.targets[target] ?? assert.fail(), spelling)
  const answer = await scene.cluster.instances[at].send(path, {
    method,
    headers: {
      authorization: secretOf(scene, read),
      ...(acceptEncoding && { 'accept-encoding': acceptEncoding }),
      ...(ifNoneMatch && { 'if-none-match': ifNoneMatch }),
    },
  })
  const how = `${acceptEncoding ?? 'plain'}, ${ifNoneMatch ?? 'knows nothing'}`
  const line = `${nameOf(scene, at)}, key ${key}: ${method} ${path} (${how}) → ${answer.status} ${answer.headers.etag ?? ''}`
  return { question: { method, acceptEncoding, ifNoneMatch }, answer, line }
}

/** All that may be answered, by a process that has seen the content's writes up to this one. */
export function possibleFor(scene: Scene, read: Read, oldestSeen?: number): Promise<Possible[]> {
  const { side } = slotOf(scene, read.key)
  return findPossible(scene.cluster, side, read.target, secretOf(scene, read), oldestSeen ?? side.own[read.at])
}

function complain({ trace }: Scene, { answer }: Asked, possible: readonly Possible[]): never {
  const { status, headers, body } = answer
  const wanted = possible.map(
    (one) => `${one.staleMs ?? 'now'}: ${one.answer.status} ${one.answer.etag} ${one.answer.body}`,
  )
  const got = `${status} ${JSON.stringify(headers)} ${headers['content-encoding'] ? '…' : body}`
  assert.fail(`The last answer is wrong:\n${trace.join('\n')}\nIt was\n${got}\nand may have been\n${wanted.join('\n')}`)
}

/** Holds that an answer is one of those that may be given. */
export function judge(scene: Scene, read: Read, possible: readonly Possible[], asked: Asked): void {
  const { figures } = scene
  const { asked: targets, etags } = slotOf(scene, read.key).side
  note(scene, asked.line)
  const found = recognise(asked.answer, possible, asked.question) ?? complain(scene, asked, possible)
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

/** Notes what is right of all that was asked for: after a write, who has not seen it yet may still say that. */
export async function noteTruths(scene: Scene): Promise<void> {
  for (const side of scene.sides) {
    const key = anyKeyOf(scene, side)
    for (const target of side.asked) await possibleFor(scene, { ...plainRead, at: 0, key, target })
  }
}

/** Looks at some of what was asked for before, in both processes. */
export async function lookAgain(scene: Scene, side: Side, most = lookedAtAgain): Promise<void> {
  const key = anyKeyOf(scene, side)
  for (const target of [...side.asked].slice(-most))
    for (const at of [0, 1] as const) await playRead(scene, { ...plainRead, at, key, target })
}
