import { open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** A new directory entry is durable once its folder is synced. */
export async function flushFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

export interface WholeFile {
  path: string
  content: Parameters<typeof writeFile>[1]
  /** A temporary path on the same disk. */
  draft: string
  mode?: number
}

/** Atomic and durable: a reader sees the whole file or none. Both folders must exist. */
export async function writeWhole({ path, content, draft, mode }: WholeFile): Promise<void> {
  try {
    await writeFile(draft, content, { flush: true, ...(mode !== undefined && { mode }) })
    await rename(draft, path)
    await flushFolder(dirname(path))
  } finally {
    await rm(draft, { force: true })
  }
}
