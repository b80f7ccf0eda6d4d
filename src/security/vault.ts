import { randomBytes } from 'node:crypto'
import { conflict } from '../core/errors.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { hasSecrets, readSealed, writeSealed } from '../store/content/secrets.ts'
import type { GroupStore } from '../store/store.ts'
import { deriveKey } from './master-key.ts'
import { type Belonging, seal, unseal } from './sealing.ts'

const dataKeyBytes = 32
const dataKeyField = 'dataKey'

/** Keeps secrets that we must be able to read again, such as a payment provider's key. */
export interface Vault {
  /** Takes the place of what was kept for this subject under this name. */
  put(writer: ContentWriter, subjectId: string, field: string, text: string): Promise<void>
  /** Undefined where nothing is kept. Throws where it cannot be opened. */
  read(group: GroupStore, subjectId: string, field: string): Promise<string | undefined>
}

/** Each group has a key of its own, which the master key seals; group, subject and field are bound to what it seals. */
export function createVault(masterKey: Buffer): Vault {
  const wrappingKey = deriveKey(masterKey, 'data keys')

  async function findDataKey(group: GroupStore): Promise<Buffer | undefined> {
    const { groupId } = group
    const sealed = await readSealed(group, groupId, dataKeyField)
    return sealed === undefined ? undefined : opened(wrappingKey, [groupId, groupId, dataKeyField], sealed)
  }

  /** One that cannot be opened any more is replaced when nothing is left that it has sealed, and not before. */
  async function dataKeyOf(writer: ContentWriter): Promise<Buffer> {
    try {
      return (await findDataKey(writer.group)) ?? (await makeDataKey(writer))
    } catch (error) {
      if (await hasSecrets(writer.group, writer.group.groupId)) throw error
      return makeDataKey(writer)
    }
  }

  async function makeDataKey(writer: ContentWriter): Promise<Buffer> {
    const { groupId } = writer.group
    const key = randomBytes(dataKeyBytes)
    await writeSealed(writer, groupId, dataKeyField, seal(wrappingKey, [groupId, groupId, dataKeyField], key))
    return key
  }

  return {
    async put(writer, subjectId, field, text) {
      const key = await dataKeyOf(writer)
      const sealed = seal(key, [writer.group.groupId, subjectId, field], Buffer.from(text))
      await writeSealed(writer, subjectId, field, sealed)
    },
    async read(group, subjectId, field) {
      const sealed = await readSealed(group, subjectId, field)
      if (sealed === undefined) return undefined
      const key = await findDataKey(group)
      if (!key) throw cannotOpen(field)
      return opened(key, [group.groupId, subjectId, field], sealed).toString()
    },
  }
}

const cannotOpen = (field: string): Error =>
  conflict(
    `The sealed ${field} cannot be opened. Is the master key the one that it was sealed with? If that is lost, disconnect the payment accounts of the group and remove its mail server, then set them up again.`,
  )

function opened(key: Buffer, belonging: Belonging, sealed: string): Buffer {
  const content = unseal(key, belonging, sealed)
  if (!content) throw cannotOpen(belonging[2])
  return content
}
