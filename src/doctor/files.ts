import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'

function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Undefined where nothing is there, or no longer. */
export async function statIfThere(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    if (isAbsence(error)) return undefined
    throw error
  })
}

export const isFolder = async (path: string): Promise<boolean> =>
  (await statIfThere(path).catch(() => undefined))?.isDirectory() === true

export const isFile = async (path: string): Promise<boolean> =>
  (await statIfThere(path).catch(() => undefined))?.isFile() === true
