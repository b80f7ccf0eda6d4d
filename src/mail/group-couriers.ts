import { createBoundedMap } from '../bounded-map.ts'
import type { GroupStore } from '../store/groups.ts'
import { findMailServer, type GroupMailServer, mailServerField, mailServerSubject } from '../store/mail-servers.ts'
import type { Vault } from '../vault.ts'
import type { Courier } from './courier.ts'
import { parseMailServer } from './server-address.ts'
import { createSmtpCourier, type SmtpOptions } from './smtp.ts'

/** Connections to the servers of so many groups are kept open. */
const mostKept = 100

interface Kept {
  courier: Promise<Courier>
  /** Of the server that it was made for. */
  updatedMs: number
}

const close = ({ courier }: Kept): unknown =>
  courier.then(
    (opened) => opened.close(),
    () => {}, // there was none
  )

export interface GroupCouriers {
  of(group: GroupStore, server: GroupMailServer): Promise<Courier>
  close(): void
}

/** Who takes the e-mails of groups to their own servers: one courier for each server, however many ask for it at once. */
export function createGroupCouriers(vault: Vault, options: SmtpOptions): GroupCouriers {
  const couriers = createBoundedMap<string, Kept>(mostKept, close)

  async function open(group: GroupStore, { updatedMs }: GroupMailServer): Promise<Courier> {
    const url = await vault.read(group, mailServerSubject, mailServerField)
    // The address may be that of another server, which speaks in another name.
    if ((await findMailServer(group))?.updatedMs !== updatedMs)
      throw new Error('The mail server of this group has just been changed.')
    if (url === undefined) throw new Error('No address is kept for the mail server of this group. Set it again.')
    return createSmtpCourier(parseMailServer(url), options)
  }

  return {
    of(group, server) {
      const { updatedMs } = server
      const known = couriers.get(group.groupId)
      if (known?.updatedMs === updatedMs) return known.courier
      if (known) close(known)
      const courier = open(group, server)
      couriers.set(group.groupId, { courier, updatedMs })
      courier.catch(() => couriers.delete(group.groupId)) // the next one tries again
      return courier
    },
    close() {
      for (const kept of couriers.values()) close(kept)
    },
  }
}
