import type { ContentWriter } from '../content/changes.ts'
import { deleteSecrets } from '../content/secrets.ts'
import type { GroupStore } from '../store.ts'

/** A group's own mail server, without its secrets. */
export interface GroupMailServer {
  fromAddress: string
  host: string
  port: number
  tls: string
  updatedMs: number
}

/** The vault's subject for the server's full address, with user and password. */
export const mailServerSubject = 'mailServer'
export const mailServerField = 'smtpUrl'

export async function findMailServer({ groupId, database }: GroupStore): Promise<GroupMailServer | undefined> {
  return database.read
    .selectFrom('mail_servers')
    .select(['from_address as fromAddress', 'host', 'port', 'tls', 'updated_ms as updatedMs'])
    .where('group_id', '=', groupId)
    .executeTakeFirst()
}

/** Replaces a server that exists. The caller stores its secret in the same transaction. */
export async function putMailServer(
  writer: ContentWriter,
  { fromAddress, host, port, tls }: Omit<GroupMailServer, 'updatedMs'>,
): Promise<void> {
  const { db, group, nowMs } = writer
  const row = { from_address: fromAddress, host, port, tls, updated_ms: nowMs }
  await db
    .insertInto('mail_servers')
    .values({ group_id: group.groupId, ...row })
    .onConflict((conflict) => conflict.column('group_id').doUpdateSet(row))
    .execute()
  writer.record({ type: 'mailserver.updated', subjectId: group.groupId, note: `${host}:${port}` })
}

/** With its secret. False if there was none. */
export async function removeMailServer(writer: ContentWriter): Promise<boolean> {
  const { db, group } = writer
  await deleteSecrets(writer, mailServerSubject)
  const { numDeletedRows } = await db
    .deleteFrom('mail_servers')
    .where('group_id', '=', group.groupId)
    .executeTakeFirst()
  if (numDeletedRows > 0n) writer.record({ type: 'mailserver.removed', subjectId: group.groupId })
  return numDeletedRows > 0n
}
