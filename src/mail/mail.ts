import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { invalid } from '../core/errors.ts'
import type { Media } from '../media/media.ts'
import { isLoopback } from '../security/public-address.ts'
import type { Vault } from '../security/vault.ts'
import { findMailServer, type GroupMailServer } from '../store/mail/mail-servers.ts'
import { pruneMessages } from '../store/mail/messages.ts'
import { pruneTallies } from '../store/mail/quotas.ts'
import { databaseNamesInUse, type GroupStore, type Store } from '../store/store.ts'
import { createComposer } from './compose.ts'
import { deliverHandler } from './deliver.ts'
import { readDkimKey } from './dkim-key.ts'
import { domainOf, isOfDomain } from './domains.ts'
import { createGroupTransports } from './group-transports.ts'
import { createLogoReader } from './logo.ts'
import { createMailbox } from './mailbox.ts'
import { noticeHandler } from './notices.ts'
import type { MailServerAddress } from './server-address.ts'
import { readSiteLook } from './site-look.ts'
import { createSmtpTransport, probeServer } from './smtp.ts'
import type { MailTransport } from './transport.ts'
import type { Mail, ResolvedTransport, SenderOrigin } from './types.ts'

/** Named without host and port, because members of all groups read about its failures. */
const serviceTransportOptions = { hosts: 'any', name: 'The mail server', connections: 10 } as const

interface MailDeps {
  config: Config
  masterKey: Buffer
  vault: Vault
  store: Store
  media: Pick<Media, 'storage'>
}

/** Refuses settings with which receivers would reject or discard our e-mails. */
export function checkMailSettings(config: Config): void {
  const { mailServer, mailFrom } = config
  if (mailServer && !isLoopback(mailServer.host) && mailFrom.endsWith('@localhost'))
    throw invalid('The settings cannot be used:\n  SMTP_URL needs MAIL_FROM, the address that e-mails are sent from.')
  readDkimKey(config)
}

const withoutLogin = ({ host, port, tls }: MailServerAddress): Mail['serviceServer'] => ({ host, port, tls })

export function createMail({ config, masterKey, vault, store, media }: MailDeps): Mail {
  checkMailSettings(config)
  const compose = createComposer(config)
  const readLogo = createLogoReader(media.storage)
  const localMailbox = createMailbox(join(config.dataDir, 'mailbox'))
  const mailbox = config.mailServer ? undefined : localMailbox
  const serviceTransport: MailTransport = config.mailServer
    ? createSmtpTransport(config.mailServer, serviceTransportOptions)
    : localMailbox
  const serviceDomains = [domainOf(config.mailFrom), config.mailDkimDomain].filter((domain) => domain !== undefined)
  const groupTransports = createGroupTransports(vault, { hosts: config.mailGroupHosts })

  const originOf = (server: GroupMailServer | undefined): SenderOrigin =>
    server ? { sender: server.fromAddress, isOwn: true } : { sender: config.mailFrom, isOwn: false }
  const currentOrigin = async (group: GroupStore): Promise<SenderOrigin> => originOf(await findMailServer(group))

  async function resolveTransport(group: GroupStore): Promise<ResolvedTransport> {
    const server = await findMailServer(group)
    return { ...originOf(server), transport: server ? await groupTransports.of(group, server) : serviceTransport }
  }

  const senderOf = async (group: GroupStore): Promise<string> => (await currentOrigin(group)).sender

  const render: Mail['render'] = async (owner, group, message, origin) => {
    const { sender, isOwn } = origin ?? (await currentOrigin(group))
    const look = await readSiteLook(readLogo, owner, group, message.content)
    const { renderMessage } = await import('./render.ts') // its libraries are large, and many services send no mail
    const body = renderMessage(message, look)
    const from = { name: look.name, address: sender }
    const { recipient: to, replyTo, subject, messageId, createdMs: dateMs } = message
    const parts = { from, to, replyTo, subject, messageId, dateMs, ...body, logo: look.logo }
    const raw = await compose({ ...parts, isAutomatic: message.kind !== 'contact', canDkimSign: !isOwn })
    return { from, ...body, logo: look.logo, raw }
  }

  async function tidy(nowMs: number): Promise<void> {
    for (const name of await databaseNamesInUse(store.control)) {
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
    resolveTransport,
    isOfService: (address) => serviceDomains.some((domain) => isOfDomain(address, domain)),
    probeServer: (address) => probeServer(address, { hosts: config.mailGroupHosts }),
    render,
    handlers: [
      deliverHandler({ resolveTransport, render }),
      noticeHandler({ senderOf, dailyLimits: config.mailDailyLimits }),
    ],
    registerPages(app, limit) {
      if (!mailbox) return
      app.register(async (scope) => {
        const { registerMailboxPages } = await import('./mailbox-page.ts') // not needed by commands
        registerMailboxPages(scope, { store, masterKey, mailbox, render, limit })
      })
    },
    forgetGroup: (groupId) => localMailbox.removeGroup(groupId),
    tidy,
    close() {
      serviceTransport.close()
      groupTransports.close()
    },
  }
}
