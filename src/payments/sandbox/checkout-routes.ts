import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createAnswerSemaphore } from '../../concurrency/semaphore.ts'
import { isEmailAddress } from '../../content/email.ts'
import type { Clock } from '../../core/clock.ts'
import { notFound } from '../../core/errors.ts'
import { idPattern } from '../../core/ids.ts'
import { findRegisteredIntegration } from '../../store/commerce/integrations.ts'
import type { GroupStore, Store } from '../../store/store.ts'
import { pagePolicy, renderCheckout, renderEnd, returnUrl, type Typed } from './checkout-page.ts'
import { type Session, type SessionRecord, writeSandbox } from './objects.ts'
import {
  type Customer,
  checkoutPath,
  completeSession,
  findSession,
  findShop,
  type PaymentChoice,
  paymentChoices,
} from './sessions.ts'

interface PageParams {
  integrationId: string
  sessionId: string
}

interface FoundSession {
  group: GroupStore
  record: SessionRecord
  country: string | undefined
}

export type LimitVisitor = (request: FastifyRequest, reply: FastifyReply) => void

const maxTextLength = 200
/** Ten entries of that length, with each letter as several escaped bytes. */
const maxFormBytes = 32_768
/** Per account, since pages are not cached. */
const maxPagesAtOnce = 2
const sessionPattern = /^cs_test_[0-9A-Za-z]{1,100}$/

/** The pages on which customers pay in the sandbox. */
export function registerCheckoutPages(
  scope: FastifyInstance,
  { store, clock }: { store: Store; clock: Clock },
  limit: LimitVisitor,
): void {
  async function find({ integrationId, sessionId }: PageParams): Promise<FoundSession> {
    const isWellFormed = idPattern.test(integrationId) && sessionPattern.test(sessionId)
    const found = isWellFormed ? await findRegisteredIntegration(store, integrationId) : undefined
    const record = found?.integration.sandbox && (await findSession(found.group, integrationId, sessionId, clock()))
    if (!record) throw notFound('There is no such checkout.')
    const { country } = await findShop(found.group, found.owner, record.session.metadata)
    return { group: found.group, record, country }
  }

  const pages = createAnswerSemaphore(maxPagesAtOnce)
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: maxFormBytes },
    (_request: FastifyRequest, body: string | Buffer, done: (error: null, typed: Typed) => void) =>
      done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  )
  scope.addHook('onRequest', async (request, reply) => limit(request, reply))
  const path = checkoutPath(':integrationId', ':sessionId')

  scope.get<{ Params: PageParams }>(path, ({ params }, reply) =>
    pages.run(params.integrationId, async () => {
      const { record, country } = await find(params)
      return sendPage(reply, record, params, country === undefined ? {} : { country })
    }),
  )

  type PayRequest = FastifyRequest<{ Params: PageParams; Body: Typed | undefined }>
  async function pay({ params, body: typed = {} }: PayRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { group, record } = await find(params)
    if (record.session.status === 'expired') return sendPage(reply, record, params, {})
    if (record.session.status === 'complete') return sendBack(reply, record.session)
    const customer = readCustomer(record.session, typed)
    if (typeof customer === 'string') return sendPage(reply.code(400), record, params, typed, customer)
    const choice = choiceOf(typed)
    const session = await writeSandbox(group, clock(), (writer) =>
      completeSession(writer, params.integrationId, params.sessionId, customer, choice),
    )
    // Another click may have been faster, or the session may have expired.
    return session?.status === 'complete'
      ? sendBack(reply, session)
      : sendPage(reply, { ...record, session: session ?? record.session }, params, {})
  }
  scope.post<{ Params: PageParams; Body: Typed | undefined }>(`${path}/pay`, (request, reply) =>
    pages.run(request.params.integrationId, () => pay(request, reply)),
  )
}

const choiceOf = ({ outcome }: Typed): PaymentChoice => paymentChoices.find((each) => each === outcome) ?? 'paid'

/** The customer, or a message about invalid input. */
function readCustomer({ shipping_address_collection: shipping }: Session, typed: Typed): Customer | string {
  const textOf = (name: string): string | null => typed[name]?.trim() || null
  if (Object.values(typed).some((text = '') => text.length > maxTextLength)) return 'One of the entries is too long.'
  const email = textOf('email')
  if (email === null || !isEmailAddress(email)) return 'Enter a valid e-mail address.'
  const name = textOf('name')
  if (!shipping) return { email, name, shipping: null }
  const { allowed_countries: countries } = shipping
  const country = countries.find((code) => code === typed.country)
  const [line1, city] = [textOf('line1'), textOf('city')]
  if (country === undefined) return 'Choose one of the countries.'
  if (line1 === null || city === null) return 'Enter the street and the city.'
  const rest = { line2: textOf('line2'), postal_code: textOf('postal_code'), state: textOf('state') }
  return { email, name, shipping: { name: name ?? '', address: { line1, city, country, ...rest } } }
}

const sendBack = (reply: FastifyReply, { id, success_url: successUrl }: Session): FastifyReply =>
  reply.redirect(new URL(returnUrl(successUrl, id)).href, 303)

function sendPage(
  reply: FastifyReply,
  record: SessionRecord,
  { integrationId, sessionId }: PageParams,
  typed: Typed,
  problem?: string,
): FastifyReply {
  const { session } = record
  const action = `${checkoutPath(integrationId, sessionId)}/pay`
  if (session.status === 'expired') reply.code(410)
  return reply
    .type('text/html; charset=utf-8')
    .header('Content-Security-Policy', pagePolicy(session))
    .send(session.status === 'open' ? renderCheckout(record, action, typed, problem) : renderEnd(session, sessionId))
}
