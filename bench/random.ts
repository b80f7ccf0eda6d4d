import { hash } from 'node:crypto'

/** Pseudo-random values, the same in every run. */
export interface Drawing {
  /** An integer from 0 up to, but not including, the limit. */
  below(limit: number): number
  from<Value>(values: readonly Value[]): Value
}

const bytesPerDraw = 4

export function drawing(seed: number | string): Drawing {
  let block = 0
  let bytes = Buffer.alloc(0)
  let at = 0
  function below(limit: number): number {
    if (at + bytesPerDraw > bytes.length) {
      bytes = hash('sha256', `${seed} ${block}`, 'buffer')
      block += 1
      at = 0
    }
    const drawn = bytes.readUInt32BE(at)
    at += bytesPerDraw
    return drawn % limit
  }
  return { below, from: (values) => values[below(values.length)] as (typeof values)[number] }
}
