import { open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** A new name in a folder is on the disk when the folder is. */
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
  /** Where it is until it is whole: on the same disk. */
  draft: string
  mode?: number
}

/** A reader sees the whole file or none, and when this is done it is on the disk. Both folders must exist. */
export async function writeWhole({ path, content, draft, mode }: WholeFile): Promise<void> {
  try {
    await writeFile(draft, content, { flush: true, ...(mode !== undefined && { mode }) })
    await rename(draft, path)
    await flushFolder(dirname(path))
  } finally {
    await rm(draft, { force: true })
  }
}
