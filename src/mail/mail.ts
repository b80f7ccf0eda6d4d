import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createBoundedMap } from '../bounded-map.ts'
import type { Config } from '../config.ts'
import { invalid } from '../errors.ts'
import type { JobHandler } from '../jobs/handler.ts'
import { deriveKey, loadMasterKey } from '../master-key.ts'
import type { Media } from '../media/media.ts'
import type { Group, GroupStore } from '../store/groups.ts'
import { findMailServer, type GroupMailServer, mailServerField, mailServerSubject } from '../store/mail-servers.ts'
import { type Message, pruneMessages } from '../store/messages.ts'
import { namesInUse, type Store } from '../store/open.ts'
import { pruneTallies } from '../store/tallies.ts'
import type { Tier } from '../tiers.ts'
import { createVault, type Vault } from '../vault.ts'
import { createComposer } from './compose.ts'
import type { Courier } from './courier.ts'
import { deliverHandler } from './deliver.ts'
import { createMailbox, type Mailbox } from './mailbox.ts'
import { mailboxUrl, registerMailboxPages } from './mailbox-page.ts'
import { noticeHandler } from './notices.ts'
import { renderMessage } from './render.ts'
import { isLoopback, type MailServerAddress, parseMailServer } from './server-address.ts'
import { readSiteLook, type SiteLook } from './site-look.ts'
import { createSmtpCourier, type SmtpCourier } from './smtp.ts'

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

/** Everything about e-mails: what they look like, and how they get to where they are to go. */
export interface Mail {
  vault: Vault
  /** How many e-mails a group may send in a day. */
  dailyLimits: Readonly<Record<Tier, number>>
  /** Where e-mails lie when the service has no mail server. */
  mailbox: Mailbox | undefined
  /** The mail server of the service, as an administrator may be shown it. */
  serviceServer: Omit<MailServerAddress, 'login'> | undefined
  /** The address that the group's e-mails come from. */
  senderOf(group: GroupStore): Promise<string>
  /** Who takes the group's e-mails away: its own server, else the service's, else the local mailbox. */
  courierOf(group: GroupStore): Promise<Courier>
  /** Connects as a group would, proves who we are, and sends nothing. Throws a `DeliveryFailure` where it cannot. */
  tryServer(address: MailServerAddress, signal: AbortSignal): Promise<void>
  render(owner: Group, group: GroupStore, message: Message): Promise<RenderedMessage>
  handlers: JobHandler[]
  /** Adds the page on which a developer reads the local mailbox. */
  registerPages(app: FastifyInstance, limit: (request: FastifyRequest, reply: FastifyReply) => void): void
  /** The address of that page, with the key that opens it; undefined where the service has a mail server. */
  pageUrl(): string | undefined
  /** Removes the e-mails of a group from the local mailbox, also where the service has a mail server by now. */
  forgetGroup(groupId: string): Promise<void>
  /** Forgets what nobody can ask for any more. */
  tidy(nowMs: number): Promise<void>
  close(): void
}

export interface MailDeps {
  config: Config
  store: Store
  media: Pick<Media, 'storage'>
  /** On which this service listens. */
  port(): number
}

const pageKeyOf = (masterKey: Buffer): string => deriveKey(masterKey, 'mailbox page').toString('base64url').slice(0, 22)

/** The address under which a server with these settings shows its mailbox. */
export function findPageUrl(config: Config, port: number): string | undefined {
  if (config.mailServer) return undefined
  return mailboxUrl({ host: config.host, port, key: pageKeyOf(loadMasterKey(config.dataDir, config.masterKey)) })
}

/** Connections to the servers of so many groups are kept open. */
const mostGroupCouriers = 100

/** An e-mail from nowhere would be refused, or worse, not noticed to be missing. */
function checkSender({ mailServer, mailFrom }: Config): void {
  if (mailServer && !isLoopback(mailServer.host) && mailFrom.endsWith('@localhost'))
    throw invalid('The settings cannot be used:\n  SMTP_URL needs MAIL_FROM, the address that e-mails are sent from.')
}

interface GroupCourier {
  courier: SmtpCourier
  /** Of the server that it was made for. */
  updatedMs: number
}

function withoutLogin({ host, port, tls }: MailServerAddress): Mail['serviceServer'] {
  return { host, port, tls }
}

export function createMail({ config, store, media, port }: MailDeps): Mail {
  checkSender(config)
  const masterKey = loadMasterKey(config.dataDir, config.masterKey)
  const vault = createVault(masterKey)
  const pageKey = pageKeyOf(masterKey)
  const compose = createComposer(config)
  const localMailbox = createMailbox(join(config.dataDir, 'mailbox'))
  const mailbox = config.mailServer ? undefined : localMailbox
  const serviceCourier: Courier = config.mailServer
    ? createSmtpCourier(config.mailServer, { hosts: 'any' })
    : localMailbox
  const groupCouriers = createBoundedMap<string, GroupCourier>(mostGroupCouriers, ({ courier }) => courier.close())

  async function openGroupCourier(group: GroupStore, { updatedMs }: GroupMailServer): Promise<Courier> {
    const known = groupCouriers.get(group.groupId)
    if (known?.updatedMs === updatedMs) return known.courier
    known?.courier.close()
    const url = await vault.read(group, mailServerSubject, mailServerField)
    if (url === undefined) throw new Error('No address is kept for the mail server of this group. Set it again.')
    const courier = createSmtpCourier(parseMailServer(url), { hosts: config.mailGroupHosts })
    groupCouriers.set(group.groupId, { courier, updatedMs })
    return courier
  }

  async function courierOf(group: GroupStore): Promise<Courier> {
    const server = await findMailServer(group)
    return server ? openGroupCourier(group, server) : serviceCourier
  }

  const senderOf = async (group: GroupStore): Promise<string> =>
    (await findMailServer(group))?.fromAddress ?? config.mailFrom

  async function render(owner: Group, group: GroupStore, message: Message): Promise<RenderedMessage> {
    const look = await readSiteLook(media, owner, group, message.content)
    const words = renderMessage(message, look)
    const from = { name: look.name, address: await senderOf(group) }
    const { recipient: to, replyTo, subject, messageId, createdMs: dateMs } = message
    const isAutomatic = message.kind !== 'contact'
    const raw = await compose({ from, to, replyTo, subject, messageId, dateMs, ...words, logo: look.logo, isAutomatic })
    return { from, ...words, logo: look.logo, raw }
  }

  async function tidy(nowMs: number): Promise<void> {
    for (const name of await namesInUse(store.control)) {
      const database = await store.content(name)
      await pruneTallies(database, nowMs)
      await pruneMessages(database, nowMs, async (deleted) => {
        for (const { groupId, id } of deleted) await localMailbox.remove(groupId, [id])
      })
    }
  }

  return {
    vault,
    dailyLimits: config.mailDailyLimits,
    mailbox,
    serviceServer: config.mailServer && withoutLogin(config.mailServer),
    senderOf,
    courierOf,
    async tryServer(address, signal) {
      const courier = createSmtpCourier(address, { hosts: config.mailGroupHosts })
      try {
        await courier.verify(signal)
      } finally {
        courier.close()
      }
    },
    render,
    handlers: [deliverHandler({ courierOf, render, senderOf }), noticeHandler({ senderOf })],
    registerPages(app, limit) {
      if (mailbox) registerMailboxPages(app, { store, key: pageKey, mailbox, render, limit })
    },
    pageUrl: () => findPageUrl(config, port()),
    forgetGroup: (groupId) => localMailbox.removeGroup(groupId),
    tidy,
    close() {
      serviceCourier.close()
      for (const { courier } of groupCouriers.values()) courier.close()
    },
  }
}
