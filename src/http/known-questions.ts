import { createBoundedMap } from '../bounded-map.ts'
import type { Asked } from './content-maker.ts'

/** What a URL asks for, as it was read when somebody was given an answer to it. It says nothing of who may ask. */
export type KnownQuestion = Pick<Asked, 'route' | 'query'>

/** URLs that were answered before. To look up what one asks for takes a fraction of what it takes to read it. */
export interface KnownQuestions {
  peek(url: string): KnownQuestion | undefined
  note(url: string, question: KnownQuestion): void
  forget(url: string): void
}

export const mostQuestions = 5000
/** A longer one is read again each time. */
const mostCharacters = 500

export function createKnownQuestions(): KnownQuestions {
  const known = createBoundedMap<string, KnownQuestion>(mostQuestions)
  return {
    peek: (url) => known.get(url),
    note(url, question) {
      if (url.length <= mostCharacters) known.set(url, question)
    },
    forget: (url) => known.delete(url),
  }
}
