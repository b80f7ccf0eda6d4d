/** Progress of a long operation: its stage, and how far that is. */
export interface Progress {
  stage: string
  done: number
  total: number
}

export type OnProgress = (progress: Progress) => void
