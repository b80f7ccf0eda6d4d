import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { isKeyOfGroup } from '../../content/media-keys.ts'
import type { MediaStorage } from '../../media/storage.ts'
import { type MediaLine, mediaFolder } from '../export-format.ts'

export async function digestOf(stream: Readable): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of stream) digest.update(chunk)
  return digest.digest('hex')
}

/** The path of a key's file in an export. Only for keys of the group, which cannot leave the folder. */
export const pathOfMedia = (folder: string, groupId: string, key: string): string =>
  join(folder, mediaFolder, key.slice(groupId.length + 1))

/** A symbolic link could publish any file of this machine. */
async function isPlainFile(folder: string, path: string): Promise<boolean> {
  const root = join(await realpath(folder), mediaFolder)
  const inside = path.slice(join(folder, mediaFolder).length)
  return (await lstat(path)).isFile() && (await realpath(path)) === `${root}${inside}`
}

/** Why a file of an export cannot be imported. */
export async function mediaProblem(folder: string, groupId: string, line: MediaLine): Promise<string | undefined> {
  const { key, bytes, sha256 } = line
  if (!isKeyOfGroup(groupId, key)) return `the media key ${JSON.stringify(key)} does not belong to this group`
  const path = pathOfMedia(folder, groupId, key)
  try {
    if (!(await isPlainFile(folder, path))) return `${path} is not a plain file`
    const { size } = await lstat(path)
    if (size !== bytes) return `${path} has ${size} bytes, and the export says ${bytes}`
    const found = await digestOf(createReadStream(path))
    return found === sha256 ? undefined : `${path} is not the file that was exported: its SHA-256 is another`
  } catch (error) {
    return `${path} cannot be read: ${(error as Error).message}`
  }
}

/** Undefined if there is no such file. */
export async function digestOfStored(storage: MediaStorage, bucketName: string, key: string) {
  return digestOf(storage.read(bucketName, key)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}
