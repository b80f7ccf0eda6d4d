import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'

export const statIfExists = (path: string): Promise<Stats | undefined> =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

export const isFolder = async (path: string): Promise<boolean> =>
  (await statIfExists(path).catch(() => undefined))?.isDirectory() === true

export const isFile = async (path: string): Promise<boolean> =>
  (await statIfExists(path).catch(() => undefined))?.isFile() === true
