import { randomBytes } from 'node:crypto'
import { conflict } from '../core/errors.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { hasSecrets, readSealed, writeSealed } from '../store/content/secrets.ts'
import type { GroupStore } from '../store/store.ts'
import { deriveKey } from './master-key.ts'
import { type SecretId, seal, unseal } from './sealing.ts'

const dataKeyBytes = 32
const dataKeyField = 'dataKey'

/** Stores secrets that we must be able to read again, such as a payment provider's key. */
export interface Vault {
  /** Inserts or replaces a secret. */
  put(writer: ContentWriter, subjectId: string, field: string, text: string): Promise<void>
  /** Undefined when there is no such secret. Throws when it cannot be opened. */
  read(group: GroupStore, subjectId: string, field: string): Promise<string | undefined>
}

/** Envelope encryption: a data key for each group, wrapped by a key that is derived from the master key. */
export function createVault(masterKey: Buffer): Vault {
  const wrappingKey = deriveKey(masterKey, 'data keys')

  async function findDataKey(group: GroupStore): Promise<Buffer | undefined> {
    const { groupId } = group
    const sealed = await readSealed(group, groupId, dataKeyField)
    return sealed === undefined ? undefined : opened(wrappingKey, [groupId, groupId, dataKeyField], sealed)
  }

  /** A data key that cannot be opened is replaced once all secrets sealed with it are deleted. */
  async function findOrMakeDataKey(writer: ContentWriter): Promise<Buffer> {
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
      const key = await findOrMakeDataKey(writer)
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

function opened(key: Buffer, id: SecretId, sealed: string): Buffer {
  const content = unseal(key, id, sealed)
  if (!content) throw cannotOpen(id[2])
  return content
}
