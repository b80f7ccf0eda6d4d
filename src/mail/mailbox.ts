import { mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { idPattern } from '../core/ids.ts'
import { flushFolder, writeWhole } from '../core/write-file-atomically.ts'
import type { MailTransport } from './transport.ts'

/** A folder of `.eml` files, used without a mail server. */
export interface Mailbox extends MailTransport {
  folder: string
  /** The message as it was sent; undefined when there is none. */
  read(groupId: string, messageId: string): Promise<Buffer | undefined>
  remove(groupId: string, messageId: string): Promise<void>
  removeGroup(groupId: string): Promise<void>
}

const folderMode = 0o700
const fileMode = 0o600

export function createMailbox(folder: string): Mailbox {
  const folderOf = (groupId: string): string => join(folder, checked(groupId))
  const pathOf = (groupId: string, messageId: string): string => join(folderOf(groupId), `${checked(messageId)}.eml`)
  const draftOf = (path: string): string => `${path}.draft`
  return {
    name: 'the local mailbox',
    folder,
    async deliver({ groupId, id, raw }, { signal }) {
      signal.throwIfAborted()
      const path = pathOf(groupId, id)
      const made = await mkdir(dirname(path), { recursive: true, mode: folderMode })
      if (made !== undefined) await flushFolder(folder)
      await writeWhole({ path, content: raw, draft: draftOf(path), mode: fileMode })
      return 'Stored in the local mailbox.'
    },
    async read(groupId, messageId) {
      try {
        return await readFile(pathOf(groupId, messageId))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    async remove(groupId, messageId) {
      const path = pathOf(groupId, messageId)
      for (const each of [path, draftOf(path)]) await rm(each, { force: true })
    },
    async removeGroup(groupId) {
      await rm(folderOf(groupId), { recursive: true, force: true })
    },
    close() {},
  }
}

/** Against path traversal. */
function checked(id: string): string {
  if (!idPattern.test(id)) throw new Error('This is not an id.')
  return id
}
