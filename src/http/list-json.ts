import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { answerTooLong } from '../content/answer-limit.ts'
import { okJson } from '../core/envelope.ts'

const hasItems = (data: unknown): data is { items: unknown[] } =>
  typeof data === 'object' && data !== null && 'items' in data && Array.isArray(data.items)

const mark = '\0items'
const [beforeData = '', afterData = ''] = okJson(mark).split(mark)

/**
 * Serialises a successful answer like `JSON.stringify`, within the limit of answers. The items of a list are written one by one,
 * yielding to other work if they are long, and without a text of the whole answer, which would be in memory several times.
 */
export async function answerJson(data: unknown, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  const add = (text: string): void => {
    const piece = Buffer.from(text)
    bytes += piece.length
    if (bytes > maxBytes) throw answerTooLong(maxBytes)
    pieces.push(piece)
  }
  async function addItems(items: readonly unknown[]): Promise<void> {
    add('[')
    let lastBytes = 0 // of the previous item, as an estimate of the next one
    for (const [position, item] of items.entries()) {
      await yieldForHeavyWork(lastBytes)
      const beforeBytes = bytes
      add(`${position === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`)
      lastBytes = bytes - beforeBytes
    }
    add(']')
  }
  add(beforeData)
  if (hasItems(data)) {
    let sign = '{'
    for (const [name, value] of Object.entries(data)) {
      if (value === undefined) continue
      add(`${sign}${JSON.stringify(name)}:`)
      sign = ','
      if (name === 'items') await addItems(data.items)
      else add(JSON.stringify(value))
    }
    add('}')
  } else add(JSON.stringify(data ?? null))
  add(afterData)
  return Buffer.concat(pieces)
}
