import { AppError, invalid } from '../errors.ts'

const maxShown = 20
const maxCharactersShown = 500

/** Everything that is wrong with a file, told at once; of many problems the first ones and how many there are. */
export interface ProblemList {
  readonly count: number
  add(place: string, problem: string): void
  /** Takes the message of what is thrown for people as a problem, and answers undefined then. */
  attempt<Result>(place: string, work: () => Result): Result | undefined
  /** Throws where there is a problem. `what` begins the sentence. */
  refuse(what: string): void
}

function shorten(text: string): string {
  return text.length > maxCharactersShown ? `${text.slice(0, maxCharactersShown).toWellFormed()}…` : text
}

export function createProblemList(): ProblemList {
  const shown: string[] = []
  let count = 0

  const add = (place: string, problem: string): void => {
    count += 1
    if (shown.length < maxShown) shown.push(`  ${place}: ${shorten(problem)}`)
  }

  return {
    get count() {
      return count
    },
    add,
    attempt(place, work) {
      try {
        return work()
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        add(place, error.message.replace(/\.$/, ''))
        return undefined
      }
    },
    refuse(what) {
      if (count === 0) return
      const more = count > shown.length ? [`  and ${count - shown.length} more.`] : []
      const title = `${what} Nothing was changed. ${count === 1 ? 'There is one problem' : `There are ${count} problems`}:`
      throw invalid([title, ...shown, ...more].join('\n'))
    },
  }
}
