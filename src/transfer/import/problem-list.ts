import { AppError, invalid } from '../../core/errors.ts'

const maxShown = 20
const maxCharactersShown = 500

/** Collects the problems of a file, to report them at once: the first ones, and the number of others. */
export interface ProblemList {
  readonly count: number
  add(location: string, problem: string): void
  /** If `work` throws an `AppError`, adds its message and returns undefined. */
  attempt<Result>(location: string, work: () => Result): Result | undefined
  /** Throws if there are problems. `what` begins the message. */
  refuse(what: string): void
}

const shorten = (text: string): string =>
  text.length > maxCharactersShown ? `${text.slice(0, maxCharactersShown).toWellFormed()}…` : text

export function createProblemList(): ProblemList {
  const shown: string[] = []
  let count = 0

  const add = (location: string, problem: string): void => {
    count += 1
    if (shown.length < maxShown) shown.push(`  ${location}: ${shorten(problem)}`)
  }

  return {
    get count() {
      return count
    },
    add,
    attempt(location, work) {
      try {
        return work()
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        add(location, error.message.replace(/\.$/, ''))
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
