/** What a content endpoint has found, and for how long that is the answer. */
export interface Content {
  /** The answer's `data`, as JSON. */
  json: string
  /** The revision of the group's content that it was read at: when there is another one, there may be another answer. */
  revision: number
  /** From this moment on the same revision may give another answer: a publish date comes, or signatures grow old. */
  untilMs: number
}
