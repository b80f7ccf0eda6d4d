/** What a long piece of work tells of itself: which part it is at, and how far that is. */
export interface Progress {
  stage: string
  done: number
  total: number
}

export type OnProgress = (progress: Progress) => void
