import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'

export const statIfThere = (path: string): Promise<Stats | undefined> =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

export const isFolder = async (path: string): Promise<boolean> =>
  (await statIfThere(path).catch(() => undefined))?.isDirectory() === true

export const isFile = async (path: string): Promise<boolean> =>
  (await statIfThere(path).catch(() => undefined))?.isFile() === true
