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

export interface RenderedMessage {
  from: { name: string; address: string }
  html: string
  text: string
  /** The part `cid:logo` of the markup. */
  logo: SiteLook['logo']
  /** In MIME format, signed where possible. */
  raw: Buffer
}

/** Sender and transport are read together, because a server may only send from its own address. */
export interface ResolvedTransport {
  /** The From address. */
  sender: string
  /** Whether it is the group's own server. */
  isOwn: boolean
  transport: MailTransport
}

/** Composes and delivers e-mails. */
export interface Mail {
  vault: Vault
  /** E-mails that a group may send in a day. */
  dailyLimits: Readonly<Record<Tier, number>>
  databaseQuotas: Readonly<Record<Tier, number>>
  /** Undefined with a mail server. */
  mailbox: Mailbox | undefined
  /** The mail server of the service, without its login. */
  serviceServer: Omit<MailServerAddress, 'login'> | undefined
  /** The From address of a group's e-mails. */
  senderOf(group: GroupStore): Promise<string>
  /** The group's own server, else the service's, else the local mailbox. */
  resolveTransport(group: GroupStore): Promise<ResolvedTransport>
  /** Whether an address is in a domain that the service sends from or signs for. */
  isOfService(address: string): boolean
  /** Connects to a server as a group would, and sends nothing. Returns the problem, if any. */
  probeServer(address: MailServerAddress): Promise<string | undefined>
  /** `origin` is the current one by default. */
  render(owner: Group, group: GroupStore, message: Message, origin?: SenderOrigin): Promise<RenderedMessage>
  handlers: JobHandler[]
  /** Registers the pages of the local mailbox. */
  registerPages(app: FastifyInstance, limit: (request: FastifyRequest, reply: FastifyReply) => void): void
  /** Removes the group's e-mails from the local mailbox, even if the service has a mail server now. */
  forgetGroup(groupId: string): Promise<void>
  /** Deletes expired messages and quota counters. */
  tidy(nowMs: number): Promise<void>
  close(): void
}

export type SenderOrigin = Omit<ResolvedTransport, 'transport'>
