import { createLruMap } from '../cache/lru-map.ts'
import type { Vault } from '../security/vault.ts'
import { findMailServer, type GroupMailServer, mailServerField, mailServerSubject } from '../store/mail/mail-servers.ts'
import type { GroupStore } from '../store/store.ts'
import { parseMailServer } from './server-address.ts'
import { createSmtpTransport, type SmtpOptions } from './smtp.ts'
import type { MailTransport } from './transport.ts'

const maxTransports = 100

interface CachedTransport {
  transport: Promise<MailTransport>
  /** The version of the server's settings. */
  updatedMs: number
}

const close = ({ transport }: CachedTransport): unknown =>
  transport.then(
    (opened) => opened.close(),
    () => {}, // it was never opened
  )

export interface GroupTransports {
  of(group: GroupStore, server: GroupMailServer): Promise<MailTransport>
  close(): void
}

/** The transports to groups' own servers, one for each server, in an LRU cache. */
export function createGroupTransports(vault: Vault, options: SmtpOptions): GroupTransports {
  const transports = createLruMap<string, CachedTransport>(maxTransports, close)

  async function open(group: GroupStore, { updatedMs }: GroupMailServer): Promise<MailTransport> {
    const url = await vault.read(group, mailServerSubject, mailServerField)
    // The URL may already be that of another server, with another sender.
    if ((await findMailServer(group))?.updatedMs !== updatedMs)
      throw new Error('The mail server of this group has just been changed.')
    if (url === undefined) throw new Error('No address is stored for the mail server of this group. Set it again.')
    return createSmtpTransport(parseMailServer(url), options)
  }

  return {
    of(group, server) {
      const { updatedMs } = server
      const cached = transports.get(group.groupId)
      if (cached?.updatedMs === updatedMs) return cached.transport
      if (cached) close(cached)
      const transport = open(group, server)
      transports.set(group.groupId, { transport, updatedMs })
      transport.catch(() => transports.delete(group.groupId)) // the next caller tries again
      return transport
    },
    close() {
      for (const cached of transports.values()) close(cached)
    },
  }
}
