import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** No upload and no job takes that long. */
const deadAfterMs = 24 * 3600 * 1000

/** Empties a folder of what nobody can be working on any more. */
export async function removeOld(folder: string, nowMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const path = join(folder, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }))
    if (nowMs - mtimeMs > deadAfterMs) await rm(path, { recursive: true, force: true })
  }
}
