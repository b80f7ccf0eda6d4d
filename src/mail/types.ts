import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Tier } from '../core/tiers.ts'
import type { JobHandler } from '../jobs/handler.ts'
import type { Vault } from '../security/vault.ts'
import type { Group } from '../store/control/groups.ts'
import type { Message } from '../store/mail/messages.ts'
import type { GroupStore } from '../store/store.ts'
import type { Mailbox } from './mailbox.ts'
import type { MailServerAddress } from './server-address.ts'
import type { SiteLook } from './site-look.ts'
import type { MailTransport } from './transport.ts'

/** A message as it is sent, with all of its words. */
export interface RenderedMessage {
  from: { name: string; address: string }
  html: string
  text: string
  /** What `cid:logo` stands for in the markup. */
  logo: SiteLook['logo']
  /** As it goes over the wire. */
  raw: Buffer
}

/** How the e-mails of a group go out. It is read at once: a name belongs to the server that may speak in it. */
export interface ResolvedTransport {
  /** The address that they come from. */
  sender: string
  /** Whether by a server of the group's own. */
  isOwn: boolean
  transport: MailTransport
}

/** Everything about e-mails: what they look like, and how they get to where they are to go. */
export interface Mail {
  vault: Vault
  /** How many e-mails a group may send in a day. */
  dailyLimits: Readonly<Record<Tier, number>>
  /** How many bytes a group may have in the database. */
  databaseQuotas: Readonly<Record<Tier, number>>
  /** Where e-mails lie when the service has no mail server. */
  mailbox: Mailbox | undefined
  /** The mail server of the service, as an administrator may be shown it. */
  serviceServer: Omit<MailServerAddress, 'login'> | undefined
  /** The address that the group's e-mails come from. */
  senderOf(group: GroupStore): Promise<string>
  /** By the group's own server, else by the service's, else into the local mailbox. */
  resolveTransport(group: GroupStore): Promise<ResolvedTransport>
  /** Whether an address is of a domain in whose name the service itself sends or signs. */
  isOfService(address: string): boolean
  /** Connects to a server as a group would, and sends nothing. Says why that went wrong, where it did. */
  probeServer(address: MailServerAddress): Promise<string | undefined>
  /** For the way that it goes; without one, for the way that it would go now. */
  render(owner: Group, group: GroupStore, message: Message, way?: SenderOrigin): Promise<RenderedMessage>
  handlers: JobHandler[]
  /** Adds the page on which a developer reads the local mailbox. */
  registerPages(app: FastifyInstance, limit: (request: FastifyRequest, reply: FastifyReply) => void): void
  /** Removes the e-mails of a group from the local mailbox, also where the service has a mail server by now. */
  forgetGroup(groupId: string): Promise<void>
  /** Forgets what nobody can ask for any more. */
  tidy(nowMs: number): Promise<void>
  close(): void
}

export type SenderOrigin = Omit<ResolvedTransport, 'transport'>
