/** Progress of one stage of a long operation. */
export interface Progress {
  stage: string
  done: number
  total: number
}

export type OnProgress = (progress: Progress) => void
