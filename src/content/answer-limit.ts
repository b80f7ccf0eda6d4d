import { type AppError, invalid } from '../core/errors.ts'
import type { CurrentFile, SignMedia } from './delivery.ts'

/** Each has up to seven addresses to sign, which with a key of RSA takes milliseconds. With that many an answer is long anyway. */
export const maxFilesPerAnswer = 4000

/** Where many are listed, fewer can be asked for. */
export const answerTooLong = (maxBytes: number): AppError =>
  invalid(
    `The answer would have more than ${maxBytes} bytes, and an answer has at most that many. Ask for fewer items with limit.`,
  )

const tooManyFiles = (): AppError =>
  invalid(`The answer would show more than ${maxFilesPerAnswer} files. Ask for fewer items with limit.`)

export function checkFiles(keys: readonly string[]): void {
  if (keys.length > maxFilesPerAnswer) throw tooManyFiles()
}

/** Counts what an answer is made of while it is made, and stops that as soon as it can only become too long. */
export interface AnswerMeter {
  readonly maxBytes: number
  /** Adds pieces of text. */
  add(pieces: readonly string[]): void
  /** The same signatures: those of media values are counted before a text is made of them, which may be many times as long. */
  measured(sign: SignMedia): SignMedia
}

const emptyFile = '{"source":"","expiresAt":""}'

/** At least so many characters stand in the answer for a file. The exact number would take a serialisation of each. */
const minLengthOf = ({ source, expiresAt, srcset = '', avifSrcset = '', placeholder = '' }: CurrentFile): number =>
  emptyFile.length + source.length + expiresAt.length + srcset.length + avifSrcset.length + placeholder.length

/** Characters are counted, which are never more than bytes; the bytes themselves when they are there, by `encodeContent`. */
export function createAnswerMeter(maxBytes: number): AnswerMeter {
  let characters = 0
  /** Of the files of an item that is not serialised yet. */
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
