import { splitIntoSlices, yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { answerTooLong, checkTargets } from '../content/answer-limit.ts'
import type { SignMedia } from '../content/delivery.ts'
import { itemPieces, type OutgoingObject, parsedItems, prepareItems, readValue } from '../content/delivery-text.ts'
import type { ExpandTree } from '../content/expand.ts'
import { mediaKeysOfAll } from '../content/media-uses.ts'
import type { Container } from '../content/model.ts'
import { type ReferenceSlot, referenceSlotsIn } from '../content/references.ts'
import type { Schema } from '../content/schema.ts'
import { inBatches } from '../store/engine/database.ts'
import type { Reading } from '../store/lists/reading.ts'
import { readTargets } from '../store/lists/targets.ts'

type ExpandedSlot = readonly [slot: ReferenceSlot, inner: ExpandTree]

/** An object whose references may be expanded. */
interface Source {
  /** The length of its value. */
  characters: number
  /** The references to expand; those in private fields are not delivered. The value is read once, when it is needed. */
  slotsFor(tree: ExpandTree): readonly ExpandedSlot[]
}

function createSource(schema: Schema, characters: number, read: () => Record<string, unknown>): Source {
  let slots: ReferenceSlot[] | undefined
  return {
    characters,
    slotsFor(tree) {
      if (tree.size === 0) return []
      slots ??= [...referenceSlotsIn(schema, read())].filter(({ isPrivate }) => !isPrivate)
      return slots.flatMap((slot) => {
        const inner = tree.get(slot.name)
        return inner ? [[slot, inner] as const] : []
      })
    },
  }
}

interface Target extends Source {
  container: Container
  outgoing: OutgoingObject
}

/** The targets of a page's references by id; undefined for those that are not visible. */
type Targets = ReadonlyMap<string, Target | undefined>

/** The ids to expand, each with what is expanded in it: one object may be reached by several paths. */
async function findWanted(level: ReadonlyMap<ExpandTree, readonly Source[]>): Promise<Map<ExpandTree, Set<string>>> {
  const wanted = new Map<ExpandTree, Set<string>>()
  for (const [tree, sources] of level)
    for (const { items, characters } of splitIntoSlices(sources, (source) => source.characters)) {
      await yieldForHeavyWork(characters)
      for (const [{ ids }, inner] of items.flatMap((source) => source.slotsFor(tree))) {
        const known = wanted.get(inner) ?? new Set()
        wanted.set(inner, known)
        for (const id of ids) known.add(id)
      }
    }
  return wanted
}

interface Loaded {
  targets: Targets
  untilMs: number
}

/** One statement must not occupy the event loop for long. */
const idsPerRead = 250
/** What reading a row costs, as if it were parsed. */
const charactersPerRow = 1000

/** Reads level by level, each object once. */
async function loadTargets(
  reading: Reading,
  sources: readonly Source[],
  tree: ExpandTree,
  maxBytes: number,
): Promise<Loaded> {
  const targets = new Map<string, Target | undefined>()
  let untilMs = Number.POSITIVE_INFINITY

  async function load(ids: readonly string[]): Promise<void> {
    await yieldForHeavyWork(ids.length * charactersPerRow)
    const found = await readTargets(reading, ids, maxBytes)
    untilMs = Math.min(untilMs, found.untilMs)
    for (const id of ids) targets.set(id, undefined)
    for (const { items, characters } of splitIntoSlices(found.targets, ({ object }) => object.valueText.length)) {
      await yieldForHeavyWork(characters)
      for (const { container, object } of items) {
        const frames = reading.cache.framesOf(container)
        for (const outgoing of prepareItems(container, reading.group.groupId, [object], frames)) {
          const source = createSource(container.schema, object.valueText.length, () => readValue(outgoing))
          targets.set(object.id, { ...source, container, outgoing })
        }
      }
    }
  }

  for (let level = new Map([[tree, sources]]); level.size > 0; ) {
    const wanted = await findWanted(level)
    const missing = [...new Set([...wanted.values()].flatMap((ids) => [...ids]))].filter((id) => !targets.has(id))
    checkTargets(targets.size + missing.length)
    for (const batch of inBatches(missing, idsPerRead)) await load(batch)
    const deeper = [...wanted].filter(([inner]) => inner.size > 0)
    level = new Map(deeper.map(([inner, ids]) => [inner, [...ids].flatMap((id) => targets.get(id) ?? [])]))
  }
  return { targets, untilMs }
}

/** Without the brace that ends an item's JSON. */
const withoutBrace = (pieces: readonly string[]): string[] => [
  ...pieces.slice(0, -1),
  ...pieces.slice(-1).map((last) => last.slice(0, -1)),
]

/** Writes `expanded`, in pieces that are shared by all places of a target. Throws once it is longer than an answer. */
function createWriter(targets: Targets, prepared: ReadonlyMap<string, readonly string[]>, maxBytes: number) {
  const pieces: string[] = []
  let length = 0

  function write(...more: readonly string[]): void {
    for (const piece of more) {
      pieces.push(piece)
      length += piece.length
    }
    if (length > maxBytes) throw answerTooLong(maxBytes)
  }

  function writeTarget(id: string, target: Target, inner: ExpandTree): void {
    write(...(prepared.get(id) ?? []))
    if (inner.size > 0) writeExpanded(target, inner)
    write('}')
  }

  function writeSlot({ isList, ids }: ReferenceSlot, inner: ExpandTree): void {
    const visible = ids.flatMap((id) => {
      const target = targets.get(id)
      return target ? [{ id, target }] : []
    })
    if (isList) write('[')
    else if (visible.length === 0) write('null')
    for (const [position, { id, target }] of visible.entries()) {
      if (position > 0) write(',')
      writeTarget(id, target, inner)
    }
    if (isList) write(']')
  }

  function writeExpanded(source: Source, tree: ExpandTree): void {
    write(',"expanded":{')
    for (const [position, [slot, inner]] of source.slotsFor(tree).entries()) {
      write(position > 0 ? ',' : '', JSON.stringify(slot.path), ':')
      writeSlot(slot, inner)
    }
    write('}')
  }
  return { pieces, write, writeExpanded }
}

/** The visible targets of a page's references, to any depth that was requested. */
export interface Expansion {
  /** The keys of their files. */
  mediaKeys: string[]
  /** From this time on, another target is visible. */
  untilMs: number
  /** Makes the JSON of every target once. Yields to other work where they are long. */
  prepare(sign: SignMedia): Promise<void>
  /** The JSON of the page's item at a position, with its `expanded`. Throws if it becomes longer than an answer. */
  addTo(pieces: readonly string[], position: number): string[]
}

interface PageToExpand {
  container: Container
  items: readonly OutgoingObject[]
  tree: ExpandTree
  maxBytes: number
}

export async function readExpansion(
  reading: Reading,
  { container, items, tree, maxBytes }: PageToExpand,
): Promise<Expansion> {
  const sources = items.map((item) =>
    createSource(container.schema, item.object.valueText.length, () => readValue(item)),
  )
  const { targets, untilMs } = await loadTargets(reading, sources, tree, maxBytes)
  const visible = [...targets].flatMap(([id, target]) => (target ? [{ id, ...target }] : []))
  const prepared = new Map<string, readonly string[]>()
  return {
    mediaKeys: visible.flatMap(({ container: { schema }, outgoing }) =>
      mediaKeysOfAll(schema, parsedItems([outgoing])),
    ),
    untilMs,
    async prepare(sign) {
      for (const { items: slice, characters } of splitIntoSlices(visible, (target) => target.characters)) {
        await yieldForHeavyWork(characters)
        for (const each of slice) prepared.set(each.id, withoutBrace(itemPieces(each.container, each.outgoing, sign)))
      }
    },
    addTo(pieces, position) {
      const writer = createWriter(targets, prepared, maxBytes)
      writer.write(...withoutBrace(pieces))
      const source = sources[position]
      if (source) writer.writeExpanded(source, tree)
      writer.write('}')
      return writer.pieces
    },
  }
}
