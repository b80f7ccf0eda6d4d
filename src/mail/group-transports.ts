import { createLruMap } from '../cache/lru-map.ts'
import type { Vault } from '../security/vault.ts'
import { findMailServer, type GroupMailServer, mailServerField, mailServerSubject } from '../store/mail/mail-servers.ts'
import type { GroupStore } from '../store/store.ts'
import { parseMailServer } from './server-address.ts'
import { createSmtpTransport, type SmtpOptions } from './smtp.ts'
import type { MailTransport } from './transport.ts'

/** Connections to the servers of so many groups are kept open. */
const mostKept = 100

interface Kept {
  transport: Promise<MailTransport>
  /** Of the server that it was made for. */
  updatedMs: number
}

const close = ({ transport }: Kept): unknown =>
  transport.then(
    (opened) => opened.close(),
    () => {}, // there was none
  )

export interface GroupTransports {
  of(group: GroupStore, server: GroupMailServer): Promise<MailTransport>
  close(): void
}

/** Who takes the e-mails of groups to their own servers: one transport for each server, however many ask for it at once. */
export function createGroupTransports(vault: Vault, options: SmtpOptions): GroupTransports {
  const transports = createLruMap<string, Kept>(mostKept, close)

  async function open(group: GroupStore, { updatedMs }: GroupMailServer): Promise<MailTransport> {
    const url = await vault.read(group, mailServerSubject, mailServerField)
    // The address may be that of another server, which speaks in another name.
    if ((await findMailServer(group))?.updatedMs !== updatedMs)
      throw new Error('The mail server of this group has just been changed.')
    if (url === undefined) throw new Error('No address is kept for the mail server of this group. Set it again.')
    return createSmtpTransport(parseMailServer(url), options)
  }

  return {
    of(group, server) {
      const { updatedMs } = server
      const known = transports.get(group.groupId)
      if (known?.updatedMs === updatedMs) return known.transport
      if (known) close(known)
      const transport = open(group, server)
      transports.set(group.groupId, { transport, updatedMs })
      transport.catch(() => transports.delete(group.groupId)) // the next one tries again
      return transport
    },
    close() {
      for (const kept of transports.values()) close(kept)
    },
  }
}
