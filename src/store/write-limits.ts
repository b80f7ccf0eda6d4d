import { invalid } from '../errors.ts'

/**
 * What one request may write. With SQLite the groups of a database write one after the other: everybody else's
 * submissions wait for as long as this takes, about 0.2 s on an idle machine.
 */
export interface WriteLimits {
  /** Entries of the index that lists are read by: one for each value that can be filtered or sorted by. */
  indexRows: number
  /** Of the objects that are read and written, as JSON. */
  bytes: number
}

export const requestLimits: WriteLimits = { indexRows: 10_000, bytes: 16 * 1024 ** 2 }

/** Counts what is about to be written. Called before it is, and throws where it is too much. */
export type Spend = (cost: Partial<WriteLimits>) => void

const adviceOf = 'Send fewer objects at a time, or objects with fewer values. Nothing was changed.'

/** Without limits everything is taken: imports and jobs are nobody's single request. */
export function createWriteBudget(limits: WriteLimits | undefined): Spend {
  const spent: WriteLimits = { indexRows: 0, bytes: 0 }
  return ({ indexRows = 0, bytes = 0 }) => {
    spent.indexRows += indexRows
    spent.bytes += bytes
    if (!limits) return
    if (spent.indexRows > limits.indexRows)
      throw invalid(
        `This writes ${spent.indexRows} index entries or more, one for each value that can be filtered or sorted by; a request may write ${limits.indexRows}. ${adviceOf}`,
      )
    if (spent.bytes > limits.bytes)
      throw invalid(
        `This writes objects of ${spent.bytes} bytes together or more; a request may write ${limits.bytes}. ${adviceOf}`,
      )
  }
}
