import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { invalid } from '../errors.ts'
import type { JobHandler } from '../jobs/handler.ts'
import type { Media } from '../media/media.ts'
import { isLoopback } from '../public-address.ts'
import type { Group, GroupStore } from '../store/groups.ts'
import { findMailServer, type GroupMailServer } from '../store/mail-servers.ts'
import { type Message, pruneMessages } from '../store/messages.ts'
import { namesInUse, type Store } from '../store/open.ts'
import { pruneTallies } from '../store/tallies.ts'
import type { Tier } from '../tiers.ts'
import type { Vault } from '../vault.ts'
import { createComposer } from './compose.ts'
import type { Courier } from './courier.ts'
import { deliverHandler } from './deliver.ts'
import { readDkimKey } from './dkim-key.ts'
import { domainOf, isOfDomain } from './domains.ts'
import { createGroupCouriers } from './group-couriers.ts'
import { createLogoReader } from './logo.ts'
import { createMailbox, type Mailbox } from './mailbox.ts'
import { registerMailboxPages } from './mailbox-page.ts'
import { noticeHandler } from './notices.ts'
import type { MailServerAddress } from './server-address.ts'
import { readSiteLook, type SiteLook } from './site-look.ts'
import { createSmtpCourier } from './smtp.ts'
import { tryServer } from './try-server.ts'

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
export interface Way {
  /** The address that they come from. */
  sender: string
  /** Whether by a server of the group's own. */
  isOwn: boolean
  courier: Courier
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
  wayOf(group: GroupStore): Promise<Way>
  /** Whether an address is of a domain in whose name the service itself sends or signs. */
  isOfService(address: string): boolean
  /** Connects to a server as a group would, and sends nothing. Says why that went wrong, where it did. */
  tryServer(address: MailServerAddress): Promise<string | undefined>
  /** For the way that it goes; without one, for the way that it would go now. */
  render(owner: Group, group: GroupStore, message: Message, way?: Origin): Promise<RenderedMessage>
  handlers: JobHandler[]
  /** Adds the page on which a developer reads the local mailbox. */
  registerPages(app: FastifyInstance, limit: (request: FastifyRequest, reply: FastifyReply) => void): void
  /** Removes the e-mails of a group from the local mailbox, also where the service has a mail server by now. */
  forgetGroup(groupId: string): Promise<void>
  /** Forgets what nobody can ask for any more. */
  tidy(nowMs: number): Promise<void>
  close(): void
}

type Origin = Omit<Way, 'courier'>

/** Its place is the operator's business: what went wrong there is read by people of all groups. */
const serviceCourierOptions = { hosts: 'any', name: 'The mail server', connections: 10 } as const

interface MailDeps {
  config: Config
  masterKey: Buffer
  vault: Vault
  store: Store
  media: Pick<Media, 'storage'>
}

/** Refuses settings with which e-mails would not be taken by others, or worse, not noticed to be missing. */
export function checkMailSettings(config: Config): void {
  const { mailServer, mailFrom } = config
  if (mailServer && !isLoopback(mailServer.host) && mailFrom.endsWith('@localhost'))
    throw invalid('The settings cannot be used:\n  SMTP_URL needs MAIL_FROM, the address that e-mails are sent from.')
  readDkimKey(config)
}

function withoutLogin({ host, port, tls }: MailServerAddress): Mail['serviceServer'] {
  return { host, port, tls }
}

export function createMail({ config, masterKey, vault, store, media }: MailDeps): Mail {
  checkMailSettings(config)
  const compose = createComposer(config)
  const readLogo = createLogoReader(media.storage)
  const localMailbox = createMailbox(join(config.dataDir, 'mailbox'))
  const mailbox = config.mailServer ? undefined : localMailbox
  const serviceCourier: Courier = config.mailServer
    ? createSmtpCourier(config.mailServer, serviceCourierOptions)
    : localMailbox
  const serviceDomains = [domainOf(config.mailFrom), config.mailDkimDomain].filter((domain) => domain !== undefined)
  const groupCouriers = createGroupCouriers(vault, { hosts: config.mailGroupHosts })

  const originOf = (server: GroupMailServer | undefined): Origin =>
    server ? { sender: server.fromAddress, isOwn: true } : { sender: config.mailFrom, isOwn: false }
  const currentOrigin = async (group: GroupStore): Promise<Origin> => originOf(await findMailServer(group))

  async function wayOf(group: GroupStore): Promise<Way> {
    const server = await findMailServer(group)
    return { ...originOf(server), courier: server ? await groupCouriers.of(group, server) : serviceCourier }
  }

  const senderOf = async (group: GroupStore): Promise<string> => (await currentOrigin(group)).sender

  const render: Mail['render'] = async (owner, group, message, way) => {
    const { sender, isOwn } = way ?? (await currentOrigin(group))
    const look = await readSiteLook(readLogo, owner, group, message.content)
    const { renderMessage } = await import('./render.ts') // its libraries are large, and many services send no mail
    const words = renderMessage(message, look)
    const from = { name: look.name, address: sender }
    const { recipient: to, replyTo, subject, messageId, createdMs: dateMs } = message
    const letter = { from, to, replyTo, subject, messageId, dateMs, ...words, logo: look.logo }
    const raw = await compose({ ...letter, isAutomatic: message.kind !== 'contact', isVouchedFor: !isOwn })
    return { from, ...words, logo: look.logo, raw }
  }

  async function tidy(nowMs: number): Promise<void> {
    for (const name of await namesInUse(store.control)) {
      const database = await store.content(name)
      await pruneTallies(database, nowMs)
      await pruneMessages(database, nowMs, ({ groupId, id }) => localMailbox.remove(groupId, id))
    }
  }

  return {
    vault,
    dailyLimits: config.mailDailyLimits,
    databaseQuotas: config.databaseQuotas,
    mailbox,
    serviceServer: config.mailServer && withoutLogin(config.mailServer),
    senderOf,
    wayOf,
    isOfService: (address) => serviceDomains.some((domain) => isOfDomain(address, domain)),
    tryServer: (address) => tryServer(address, { hosts: config.mailGroupHosts }),
    render,
    handlers: [deliverHandler({ wayOf, render }), noticeHandler({ senderOf, dailyLimits: config.mailDailyLimits })],
    registerPages(app, limit) {
      if (mailbox) registerMailboxPages(app, { store, masterKey, mailbox, render, limit })
    },
    forgetGroup: (groupId) => localMailbox.removeGroup(groupId),
    tidy,
    close() {
      serviceCourier.close()
      groupCouriers.close()
    },
  }
}
