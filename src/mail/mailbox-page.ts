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

const mostShown = 200
/** A page is made anew each time. */
const maxPagesAtOnce = 2

const mailboxPath = (key: string): string => `/mailbox/${key}/`

/** What must stand in the address. */
const keyOf = (masterKey: Buffer): string => deriveKey(masterKey, 'mailbox page').toString('base64url').slice(0, 22)

/**
 * The address under which a server with these settings shows its mailbox, with the key that opens it; undefined where
 * it has a mail server. Whatever the service is called elsewhere: the page opens on its own machine only.
 */
export function findPageUrl(
  { mailServer, host, dataDir, masterKey }: Pick<Config, 'mailServer' | 'host' | 'dataDir' | 'masterKey'>,
  port: number,
): string | undefined {
  if (mailServer) return undefined
  const local = isLoopback(host) ? host : host.includes(':') ? '::1' : '127.0.0.1'
  const path = mailboxPath(keyOf(loadMasterKey(dataDir, masterKey)))
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}${path}`
}

/** What proxies add: behind one on this machine everybody comes from here. */
const isOfProxy = (header: string): boolean => /^(?:x-)?forwarded|^via$|^x-real-ip$/.test(header)

/** By the connection itself, whichever proxies are trusted. A foreign Host is a foreign site whose name leads here. */
function isFromHere({ raw, headers }: FastifyRequest): boolean {
  const peer = (raw.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
  const asked = URL.parse(`http://${headers.host}`)?.hostname.replace(/^\[|\]$/g, '') ?? ''
  return isLoopback(peer) && isLoopback(asked) && !Object.keys(headers).some(isOfProxy)
}

const noSuchMail = () => notFound('There is no such e-mail.')

interface Place {
  key: string
  groupId: string
  mailId: string
}

/** The page on which a developer reads the local mailbox: only from this machine, and only with the key. */
export function registerMailboxPages(app: FastifyInstance, deps: PageDeps): void {
  const { store, mailbox, render, limit } = deps
  const key = keyOf(deps.masterKey)

  async function open({ groupId, mailId }: Place) {
    if (!idPattern.test(groupId) || !idPattern.test(mailId)) throw noSuchMail()
    const owner = await findGroupById(store, groupId)
    const group = await openContentOf(store, owner)
    const message = await findMessage(group, mailId)
    if (!message) throw noSuchMail()
    return { owner, group, message }
  }

  const pages = createAnswerSemaphore(maxPagesAtOnce)
  app.register(async (scope) => {
    scope.addHook<{ Params: Place }>('onRequest', async (request, reply) => {
      limit(request, reply)
      const isMeant = request.method === 'GET' && isFromHere(request) && isSameSecret(request.params.key, key)
      if (!isMeant) throw noSuchEndpoint(app)
    })
    // All methods: that another one is "not allowed" would tell that there is something.
    const one = `${mailboxPath(':key')}:groupId/:mailId/`

    scope.all(mailboxPath(':key'), (_request, reply) =>
      pages.run('pages', async () => {
        const groups = new Map((await listGroups(store)).map(({ id, name }) => [id, name]))
        return sendPage(reply, renderList(await listLatestMessages(store, mostShown), groups))
      }),
    )

    scope.all<{ Params: Place }>(one, ({ params }, reply) =>
      pages.run('pages', async () => {
        const { owner, group, message } = await open(params)
        const isHere = (await mailbox.read(owner.id, message.id)) !== undefined
        return sendPage(
          reply,
          renderMessagePage({ message, rendered: await render(owner, group, message), owner, isHere }),
        )
      }),
    )

    scope.all<{ Params: Place }>(`${one}html`, ({ params }, reply) =>
      pages.run('pages', async () => {
        const { owner, group, message } = await open(params)
        const content = renderFrame(await render(owner, group, message))
        return reply.type('text/html; charset=utf-8').header('Content-Security-Policy', framePolicy).send(content)
      }),
    )

    scope.all<{ Params: Place }>(`${one}message.eml`, async ({ params }, reply) => {
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
