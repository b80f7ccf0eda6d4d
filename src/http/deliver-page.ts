import { type AnswerMeter, checkFiles } from '../content/answer-limit.ts'
import type { SignMedia } from '../content/delivery.ts'
import { itemPieces, type OutgoingObject, takenApart, takeOut, toDeliverable } from '../content/delivery-text.ts'
import { mediaKeysOfAll } from '../content/media-uses.ts'
import type { Container } from '../content/model.ts'
import { inPieces, takePiece } from '../heavy-work.ts'
import type { GroupStore } from '../store/groups.ts'
import type { VisibleList } from '../store/list-visible.ts'
import type { ReadCall } from './content-maker.ts'

/** A page on its way out. */
export interface DeliveredItems {
  objects: OutgoingObject[]
  /** Each item's JSON, in pieces. */
  items: string[][]
  sign: SignMedia
  untilMs: number
}

interface PageToDeliver extends Pick<VisibleList, 'objects' | 'mediaRevision'> {
  group: GroupStore
  container: Container
  meter: AnswerMeter
  /** Whether items are shown as they are taken apart also where the page passes them on as they are. */
  showsAll: boolean
}

/** Makes a page's items. Others come in between where they are long, and it stops when the answer would become too long. */
export async function deliverPage(
  signing: ReadCall<unknown>['signing'],
  { group, container, meter, showsAll, mediaRevision, ...page }: PageToDeliver,
): Promise<DeliveredItems> {
  const parts = inPieces(page.objects, ({ valueText }) => valueText.length)
  const objects: OutgoingObject[] = []
  for (const { items, characters } of parts) {
    await takePiece(characters)
    objects.push(...takeOut(container, group.groupId, items))
  }
  const keys = mediaKeysOfAll(container.schema, showsAll ? objects.map(toDeliverable) : takenApart(objects))
  checkFiles(keys)
  const { sign, untilMs } = await signing(keys, { group, mediaRevision })
  const measured = meter.measured(sign)
  const items: string[][] = []
  for (const piece of inPieces(objects, ({ object }) => object.valueText.length)) {
    await takePiece(piece.characters)
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
