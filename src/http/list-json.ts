import { answerTooLong } from '../content/answer-limit.ts'
import { pieceCharacters, takePiece } from '../heavy-work.ts'

const hasItems = (data: unknown): data is { items: unknown[] } =>
  typeof data === 'object' && data !== null && 'items' in data && Array.isArray(data.items)

/** A list's items one by one: others come in between where they are long. */
async function itemsOf(items: readonly unknown[], maxBytes: number): Promise<string> {
  const texts: string[] = []
  let characters = 0
  let sincePiece = 0
  for (const item of items) {
    const text = JSON.stringify(item) ?? 'null'
    texts.push(text)
    characters += text.length
    sincePiece += text.length
    if (characters > maxBytes) throw answerTooLong(maxBytes)
    if (sincePiece < pieceCharacters) continue
    await takePiece(sincePiece)
    sincePiece = 0
  }
  return `[${texts.join()}]`
}

/** What `JSON.stringify` makes of an answer's data, unless it has more bytes than an answer may have. */
export async function dataJson(data: unknown, maxBytes: number): Promise<string> {
  if (!hasItems(data)) return JSON.stringify(data ?? null)
  const parts: string[] = []
  for (const [name, value] of Object.entries(data)) {
    const json = name === 'items' ? await itemsOf(data.items, maxBytes) : JSON.stringify(value)
    if (json !== undefined) parts.push(`${JSON.stringify(name)}:${json}`)
  }
  return `{${parts.join()}}`
}
