import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createAnswerSemaphore } from '../concurrency/semaphore.ts'
import type { Config } from '../config/config.ts'
import { notFound } from '../core/errors.ts'
import { idPattern } from '../core/ids.ts'
import { noSuchEndpoint } from '../http/failures.ts'
import { deriveKey, loadMasterKey } from '../security/master-key.ts'
import { isLoopback } from '../security/public-address.ts'
import { isSameSecret } from '../security/tokens.ts'
import { findGroupById, listGroups, openContentOf } from '../store/control/groups.ts'
import { findMessage, listLatestMessages } from '../store/mail/messages.ts'
import type { Store } from '../store/store.ts'
import { framePolicy, pagePolicy, renderFrame, renderList, renderMessagePage } from './mailbox-view.ts'
import type { Mail } from './types.ts'

interface PageDeps {
  store: Store
  masterKey: Buffer
  mailbox: NonNullable<Mail['mailbox']>
  render: Mail['render']
  limit(request: FastifyRequest, reply: FastifyReply): void
}

const maxListed = 200
const maxConcurrentPages = 2

const mailboxPath = (key: string): string => `/mailbox/${key}/`

/** The secret part of the URL. */
const keyOf = (masterKey: Buffer): string => deriveKey(masterKey, 'mailbox page').toString('base64url').slice(0, 22)

/** The URL of the mailbox, with its key; undefined with a mail server. A loopback URL, because the page works on this machine only. */
export function findPageUrl(
  { mailServer, host, dataDir, masterKey }: Pick<Config, 'mailServer' | 'host' | 'dataDir' | 'masterKey'>,
  port: number,
): string | undefined {
  if (mailServer) return undefined
  const local = isLoopback(host) ? host : host.includes(':') ? '::1' : '127.0.0.1'
  const path = mailboxPath(keyOf(loadMasterKey(dataDir, masterKey)))
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}${path}`
}

/** Behind a proxy on this machine, every request comes from a loopback address. */
const isProxyHeader = (header: string): boolean => /^(?:x-)?forwarded|^via$|^x-real-ip$/.test(header)

/** By the socket's address, regardless of trusted proxies. The Host must be local, too, against DNS rebinding. */
function isLocalRequest({ raw, headers }: FastifyRequest): boolean {
  const peer = (raw.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
  const host = URL.parse(`http://${headers.host}`)?.hostname.replace(/^\[|\]$/g, '') ?? ''
  return isLoopback(peer) && isLoopback(host) && !Object.keys(headers).some(isProxyHeader)
}

const noSuchMail = () => notFound('There is no such e-mail.')

interface MailPath {
  key: string
  groupId: string
  mailId: string
}

/** The pages on which a developer reads the local mailbox: only from this machine, and only with the key. */
export function registerMailboxPages(app: FastifyInstance, deps: PageDeps): void {
  const { store, mailbox, render, limit } = deps
  const key = keyOf(deps.masterKey)

  async function open({ groupId, mailId }: MailPath) {
    if (!idPattern.test(groupId) || !idPattern.test(mailId)) throw noSuchMail()
    const owner = await findGroupById(store, groupId)
    const group = await openContentOf(store, owner)
    const message = await findMessage(group, mailId)
    if (!message) throw noSuchMail()
    return { owner, group, message }
  }

  const pages = createAnswerSemaphore(maxConcurrentPages)
  app.register(async (scope) => {
    scope.addHook<{ Params: MailPath }>('onRequest', async (request, reply) => {
      limit(request, reply)
      const isAllowed = request.method === 'GET' && isLocalRequest(request) && isSameSecret(request.params.key, key)
      if (!isAllowed) throw noSuchEndpoint(app)
    })
    // Routes for all methods: a 405 would reveal that the page exists.
    const one = `${mailboxPath(':key')}:groupId/:mailId/`

    scope.all(mailboxPath(':key'), (_request, reply) =>
      pages.run('pages', async () => {
        const groups = new Map((await listGroups(store)).map(({ id, name }) => [id, name]))
        return sendPage(reply, renderList(await listLatestMessages(store, maxListed), groups))
      }),
    )

    scope.all<{ Params: MailPath }>(one, ({ params }, reply) =>
      pages.run('pages', async () => {
        const { owner, group, message } = await open(params)
        const isInMailbox = (await mailbox.read(owner.id, message.id)) !== undefined
        const rendered = await render(owner, group, message)
        return sendPage(reply, renderMessagePage({ message, rendered, owner, isInMailbox }))
      }),
    )

    scope.all<{ Params: MailPath }>(`${one}html`, ({ params }, reply) =>
      pages.run('pages', async () => {
        const { owner, group, message } = await open(params)
        const content = renderFrame(await render(owner, group, message))
        return reply.type('text/html; charset=utf-8').header('Content-Security-Policy', framePolicy).send(content)
      }),
    )

    scope.all<{ Params: MailPath }>(`${one}message.eml`, async ({ params }, reply) => {
      const { owner, message } = await open(params)
      const raw = await mailbox.read(owner.id, message.id)
      if (!raw) throw notFound('This e-mail is not in the mailbox.')
      return reply
        .type('message/rfc822')
        .header('Content-Disposition', `attachment; filename="${message.id}.eml"`)
        .send(raw)
    })
  })
}

const sendPage = (reply: FastifyReply, page: string): FastifyReply =>
  reply.type('text/html; charset=utf-8').header('Content-Security-Policy', pagePolicy).send(page)
