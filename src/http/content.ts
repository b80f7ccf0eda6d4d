/** For how long something is the answer. */
export interface Validity {
  /** The revision of the group's content that it was read at: when there is another one, there may be another answer. */
  revision: number
  /** From this moment on the same revision may give another answer: a publish date comes, or signatures grow old. */
  untilMs: number
}

/** What a content endpoint has found. */
export interface Content extends Validity {
  /** The answer's `data` as JSON, in pieces. */
  json: readonly string[]
}
