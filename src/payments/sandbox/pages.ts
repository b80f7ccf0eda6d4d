import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isEmailAddress } from '../../content/email.ts'
import { notFound } from '../../errors.ts'
import { createAnswerTurns } from '../../http/fair-maker.ts'
import { idPattern } from '../../ids.ts'
import type { GroupStore } from '../../store/groups.ts'
import { findPlacedIntegration } from '../../store/integrations.ts'
import { readBooks, writeBooks } from './books.ts'
import { pagePolicy, renderCheckout, renderEnd, returnUrl, type Typed } from './checkout-page.ts'
import { type Customer, completeSession, type Outcome, outcomes } from './completion.ts'
import type { Session, SessionRecord } from './objects.ts'
import { checkoutPath, type SandboxDeps } from './server.ts'
import { findSession } from './sessions.ts'
import { findShop } from './shop.ts'

interface Place {
  integrationId: string
  sessionId: string
}

const longestText = 200
/** Ten entries of that length, each letter as several escaped bytes. */
const maxFormBytes = 32_768
/** Of one account: a page is made anew each time. */
const maxPagesAtOnce = 2
const sessionPattern = /^cs_test_[0-9A-Za-z]{1,100}$/

const noSuchPage = () => notFound('There is no such checkout.')

/** The pages on which customers pay in the sandbox. They exist for accounts of the sandbox only. */
export function registerCheckoutPages(
  app: FastifyInstance,
  { store, clock }: SandboxDeps,
  limit: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  async function find(
    place: Place,
  ): Promise<{ group: GroupStore; record: SessionRecord; country: string | undefined }> {
    if (!idPattern.test(place.integrationId) || !sessionPattern.test(place.sessionId)) throw noSuchPage()
    const found = await findPlacedIntegration(store, place.integrationId)
    if (!found?.integration.sandbox) throw noSuchPage()
    const books = readBooks(found.group, place.integrationId, clock())
    if (!(await books.find('session', place.sessionId))) throw noSuchPage()
    const record = await findSession(books, place.sessionId)
    const { country } = await findShop(found.group, found.owner, record.session.metadata ?? {})
    return { group: found.group, record, country }
  }

  const inTurn = createAnswerTurns(maxPagesAtOnce)
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: maxFormBytes },
      (_request: FastifyRequest, body: string | Buffer, done: (error: null, typed: Typed) => void) =>
        done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    )
    scope.addHook('onRequest', async (request, reply) => limit(request, reply))
    const options = { schema: { hide: true } }
    const path = checkoutPath(':integrationId', ':sessionId')

    scope.get<{ Params: Place }>(path, options, ({ params }, reply) =>
      inTurn(params.integrationId, async () => {
        const { record, country } = await find(params)
        return sendPage(reply, record, params, country === undefined ? {} : { country })
      }),
    )

    type Paying = { Params: Place; Body: Typed | undefined }
    const pay = async ({ params, body: typed = {} }: FastifyRequest<Paying>, reply: FastifyReply) => {
      const { group, record } = await find(params)
      if (record.session.status === 'expired') return sendPage(reply, record, params, {})
      if (record.session.status === 'complete') return sendBack(reply, record.session)
      const customer = readCustomer(record.session, typed)
      if (typeof customer === 'string') return sendPage(reply.code(400), record, params, typed, customer)
      const outcome = outcomeOf(typed)
      const session = await writeBooks(group, params.integrationId, clock(), (books) =>
        completeSession(books, params.sessionId, customer, outcome),
      )
      // Another click may have been faster, or the end of its time.
      return session.status === 'complete'
        ? sendBack(reply, session)
        : sendPage(reply, { ...record, session }, params, {})
    }
    scope.post<Paying>(`${path}/pay`, options, (request, reply) =>
      inTurn(request.params.integrationId, () => pay(request, reply)),
    )
  })
}

const outcomeOf = ({ outcome }: Typed): Outcome => outcomes.find((each) => each === outcome) ?? 'paid'

/** What the customer typed; or what is wrong with it, in words. */
function readCustomer({ shipping_address_collection: shipping }: Session, typed: Typed): Customer | string {
  const textOf = (name: string): string | null => typed[name]?.trim() || null
  if (Object.values(typed).some((text = '') => text.length > longestText)) return 'One of the entries is too long.'
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

function sendBack(reply: FastifyReply, { id, success_url: successUrl }: Session): FastifyReply {
  return reply.redirect(new URL(returnUrl(successUrl ?? '', id)).href, 303)
}

function sendPage(
  reply: FastifyReply,
  record: SessionRecord,
  { integrationId, sessionId }: Place,
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
