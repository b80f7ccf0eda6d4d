import { createReadStream } from 'node:fs'
import { invalid } from '../../core/errors.ts'

/** Several times the largest object; bounds the memory for a line without an end. */
const maxLineBytes = 16 * 1024 * 1024
const bytesPerRead = 256 * 1024
const lineEnd = 10

export interface Line {
  /** From 1. */
  number: number
  /** Without the line end. */
  bytes: Buffer
}

/** The lines of a file, one at a time. */
export async function* readLines(file: string): AsyncGenerator<Line> {
  let number = 1
  let parts: Buffer[] = []
  let length = 0

  const add = (part: Buffer): void => {
    length += part.length
    if (length > maxLineBytes)
      throw invalid(`Line ${number} of ${file} is longer than ${maxLineBytes / 1024 / 1024} MB: this is not an export.`)
    parts.push(part)
  }
  const take = (): Line => {
    const line = { number, bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts) }
    number += 1
    parts = []
    length = 0
    return line
  }

  for await (const chunk of createReadStream(file, { highWaterMark: bytesPerRead }) as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, start)) {
      add(chunk.subarray(start, end))
      yield take()
      start = end + 1
    }
    if (start < chunk.length) add(chunk.subarray(start))
  }
  if (parts.length > 0) yield take()
}
