import { type AppError, invalid } from '../core/errors.ts'
import type { CurrentFile, SignMedia } from './delivery.ts'

/** Each file has up to seven URLs to sign, which takes milliseconds with an RSA key. An answer with this many files is long anyway. */
export const maxFilesPerAnswer = 4000

export const answerTooLong = (maxBytes: number): AppError =>
  invalid(`The answer would exceed the maximum of ${maxBytes} bytes. Request fewer items with limit.`)

const tooManyFiles = (): AppError =>
  invalid(`The answer would contain more than ${maxFilesPerAnswer} files. Request fewer items with limit.`)

/** Expanded objects in one answer, each counted once. Their rows are read in one turn. */
export const maxTargets = 2000

export function checkTargets(count: number): void {
  if (count > maxTargets)
    throw invalid(
      `The answer would expand more than ${maxTargets} objects. Request fewer items with limit, or expand less.`,
    )
}

export function checkFiles(keys: readonly string[]): void {
  if (keys.length > maxFilesPerAnswer) throw tooManyFiles()
}

/** Measures an answer while it is built, and throws as soon as it is certain to be too long. */
export interface AnswerMeter {
  readonly maxBytes: number
  add(pieces: readonly string[]): void
  /** Wraps `sign` so that files count before they are serialised, which can make them many times as long. */
  measured(sign: SignMedia): SignMedia
}

const emptyFile = '{"source":"","expiresAt":""}'

/** A lower bound of a file's length in the answer: the exact length would need a serialisation of each. */
const minLengthOf = ({ source, expiresAt, srcset = '', avifSrcset = '', placeholder = '' }: CurrentFile): number =>
  emptyFile.length + source.length + expiresAt.length + srcset.length + avifSrcset.length + placeholder.length

/** Counts characters, which are never more than bytes. `encodeContent` checks the bytes. */
export function createAnswerMeter(maxBytes: number): AnswerMeter {
  let characters = 0
  /** Characters of the files of the item that is not serialised yet. */
  let pending = 0
  const check = (): void => {
    if (characters + pending > maxBytes) throw answerTooLong(maxBytes)
  }
  return {
    maxBytes,
    add(pieces) {
      pending = 0
      for (const { length } of pieces) characters += length
      check()
    },
    measured: (sign) => (key, isForText) => {
      const file = sign(key, isForText)
      if (file && !isForText) {
        pending += minLengthOf(file)
        check()
      }
      return file
    },
  }
}
