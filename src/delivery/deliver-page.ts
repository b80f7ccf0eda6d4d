import { splitIntoSlices, yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { type AnswerMeter, checkFiles } from '../content/answer-limit.ts'
import type { SignMedia } from '../content/delivery.ts'
import { itemPieces, type OutgoingObject, parsedItems, prepareItems, toDeliverable } from '../content/delivery-text.ts'
import { mediaKeysOfAll } from '../content/media-uses.ts'
import type { VisibleList } from '../store/lists/list-visible.ts'
import type { ContentCall } from './make-content.ts'

/** The items of a page as JSON. */
export interface DeliveredItems {
  objects: OutgoingObject[]
  /** Each item's JSON, in pieces. */
  items: string[][]
  sign: SignMedia
  untilMs: number
}

interface PageToDeliver extends Pick<VisibleList, 'container' | 'objects' | 'mediaRevision'> {
  meter: AnswerMeter
  /** Whether the values of all items are needed, also of those whose stored text goes into the page. */
  showsAll: boolean
}

/** Makes a page's items. Yields to other work where they are long, and throws once the answer becomes too long. */
export async function deliverPage(
  { group, reading, signing }: ContentCall<unknown>,
  { container, meter, showsAll, mediaRevision, ...page }: PageToDeliver,
): Promise<DeliveredItems> {
  const parts = splitIntoSlices(page.objects, ({ valueText }) => valueText.length)
  const frames = reading.cache.framesOf(container)
  const objects: OutgoingObject[] = []
  for (const { items, characters } of parts) {
    await yieldForHeavyWork(characters)
    objects.push(...prepareItems(container, group.groupId, items, frames))
  }
  const keys = mediaKeysOfAll(container.schema, showsAll ? objects.map(toDeliverable) : parsedItems(objects))
  checkFiles(keys)
  const { sign, untilMs } = await signing(keys, mediaRevision)
  const measured = meter.measured(sign)
  const items: string[][] = []
  for (const piece of splitIntoSlices(objects, ({ object }) => object.valueText.length)) {
    await yieldForHeavyWork(piece.characters)
    for (const each of piece.items) {
      const pieces = itemPieces(container, each, measured)
      meter.add(pieces)
      items.push(pieces)
    }
  }
  return { objects, items, sign, untilMs }
}

/** A list as JSON, in pieces: to join many of them at once takes a fraction of what it takes to add them up. */
export function listPieces(items: readonly (readonly string[])[]): string[] {
  const all = ['[']
  for (const pieces of items) {
    if (all.length > 1) all.push(',')
    for (const piece of pieces) all.push(piece)
  }
  all.push(']')
  return all
}
