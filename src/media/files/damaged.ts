import { type AppError, invalid } from '../../errors.ts'

/** Refuses a picture that no camera and no program has made as it is. */
export function damaged(reason: string): AppError {
  return invalid(`The picture is damaged: ${reason}. Save it again with a program for pictures and upload the result.`)
}
