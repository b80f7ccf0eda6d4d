import { conflict } from '../errors.ts'

/** Who edits an older version is told, with both values, and nothing is overwritten. */
export function refuseStale(
  what: string,
  current: number,
  started: number | undefined,
  details: () => { current: object; yours: object },
): void {
  if (started === undefined || started === current) return
  throw conflict(
    `The ${what} was changed meanwhile: it is at version ${current}, you started from ${started}. Take over what you need and send it with the current version.`,
    details(),
  )
}
