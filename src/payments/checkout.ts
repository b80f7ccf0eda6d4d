import { randomUUID } from 'node:crypto'
import { createSemaphore } from '../concurrency/semaphore.ts'
import {
  type CheckoutInput,
  checkOrigin,
  chooseOrigin,
  chooseSeller,
  chooseSite,
  modeOf,
  returnUrls,
  sessionMetadata,
} from '../content/checkout.ts'
import { defaultShippingCountries } from '../content/countries.ts'
import { AppError } from '../core/errors.ts'
import { findIntegrationById, listIntegrations } from '../store/commerce/integrations.ts'
import { type ContentWriter, endpointAuthoring, writeContent } from '../store/content/changes.ts'
import {
  claimKey,
  completeClaim,
  findClaim,
  type IdempotentRequest,
  releaseClaim,
} from '../store/content/idempotency.ts'
import { listSites } from '../store/content/sites.ts'
import type { GroupStore } from '../store/store.ts'
import { createOfferFinder, type FindOffers, type OfferDeps } from './find-offers.ts'
import { ProviderFailure, type SessionRequest } from './provider.ts'

/** A request to the provider under its idempotency key. Repeated exactly, it returns the same session. */
interface Plan {
  integrationId: string
  providerKey: string
  request: SessionRequest
}

const endpoint = 'createCheckoutSession'

const write = <Result>({ clock }: OfferDeps, group: GroupStore, work: (writer: ContentWriter) => Promise<Result>) =>
  writeContent(group, endpointAuthoring(endpoint, clock()), work)

const notActive = (): AppError =>
  new AppError('IntegrationNotActive', 'The group has no active payment integration. Connect one first.')

/** The parameters that the caller controls. If the provider rejects any other, the mistake is ours. */
const callersParameter = /^(line_items|customer_email|success_url|cancel_url)\b/

const blamesCaller = ({ parameter = '' }: ProviderFailure): boolean => callersParameter.test(parameter)

/** The failure as the caller of the checkout should see it. */
function explain(failure: ProviderFailure): AppError {
  const { kind, message, retryAfterSeconds = 1 } = failure
  switch (kind) {
    case 'unreachable':
    case 'limited':
      return new AppError('Unavailable', `${message} Try again in a moment.`, {
        cause: failure,
        retryAfterSeconds: Math.max(1, retryAfterSeconds),
      })
    case 'refused': {
      const advice = 'The payment provider does not accept the key of this integration. Give it a new one.'
      return new AppError('ProviderError', advice, { cause: failure })
    }
    case 'unknown':
    case 'invalid':
      if (blamesCaller(failure)) return new AppError('ValidationError', message, { cause: failure })
      return new AppError('ProviderError', 'The payment provider did not accept the checkout.', { cause: failure })
  }
}

/** Whether it is certain that no session was or will be created. */
const isDefinite = (error: unknown): boolean =>
  error instanceof ProviderFailure && error.kind !== 'unreachable' && error.kind !== 'limited'

async function planCheckout(
  findOffers: FindOffers,
  group: GroupStore,
  input: CheckoutInput,
  nowMs: number,
): Promise<Plan> {
  const { lines, requiresShipping, businessName, contactEmail } = input
  const sites = await listSites(group)
  const origin = chooseOrigin(input.origin, sites)
  const accounts = (await listIntegrations(group)).filter(({ status }) => status === 'active')
  // Before any call to the provider; then again for the account that sells.
  checkOrigin(origin, sites, { isTest: accounts.length === 0 || accounts.some(({ live }) => !live) })
  if (accounts.length === 0) throw notActive()
  const priceIds = [...new Set(lines.map(({ price }) => price))]
  const { integrationId, offers } = chooseSeller(priceIds, await findOffers(group, accounts, priceIds), nowMs)
  checkOrigin(origin, sites, { isTest: accounts.some(({ id, live }) => id === integrationId && !live) })
  const site = chooseSite(origin, sites)
  const countries = site?.privateSettings.shippingCountries ?? defaultShippingCountries
  const request: SessionRequest = {
    mode: modeOf(offers),
    lines,
    ...returnUrls(origin),
    ...(requiresShipping && { shippingCountries: [...countries] }),
    ...(businessName !== undefined && { businessName }),
    ...(contactEmail !== undefined && { contactEmail }),
    metadata: sessionMetadata(group.groupId, site?.id),
  }
  return { integrationId, providerKey: randomUUID(), request }
}

async function openSession({ payments }: OfferDeps, group: GroupStore, plan: Plan): Promise<string> {
  const account = await findIntegrationById(group, plan.integrationId)
  if (account?.status !== 'active')
    throw new AppError('IntegrationNotActive', 'The account was disconnected. Retry with a new Idempotency-Key.')
  const provider = await payments.open(group, account)
  return (await provider.createSession(plan.request, plan.providerKey)).url
}

async function readStoredAnswer({ clock }: OfferDeps, group: GroupStore, request: IdempotentRequest): Promise<string> {
  const claim = await findClaim<Plan, string>(group, request, clock())
  if (claim?.answer !== undefined) return claim.answer
  throw new AppError('Unavailable', 'Another request is creating the same checkout. Try again in a moment.', {
    retryAfterSeconds: 1,
  })
}

/** Stores the plan under the idempotency key before calling the provider, so that a retry cannot create another session. */
async function openOnce(deps: OfferDeps, group: GroupStore, call: IdempotentRequest, wanted: Plan): Promise<string> {
  const claim = await write(deps, group, (writer) => claimKey<Plan, string>(writer, call, wanted))
  const { isNew, request: plan, answer } = claim
  if (answer !== undefined) return answer
  try {
    const url = await openSession(deps, group, plan)
    const isSettled = await write(deps, group, (writer) => completeClaim(writer, call, { request: plan, answer: url }))
    // A concurrent request may have been faster: all requests under one key return the same URL.
    return isSettled ? url : await readStoredAnswer(deps, group, call)
  } catch (error) {
    // Only for the owner of the claim is it certain that no earlier attempt reached the provider.
    if (isNew && isDefinite(error)) await write(deps, group, (writer) => releaseClaim(writer, call, plan))
    throw error
  }
}

/** A hanging provider must not block the process, nor one group's provider the others'. */
const checkoutLimit = {
  maxPerKey: 8,
  max: 32,
  maxWaitMs: 2000,
  busyMessage: 'Too many checkouts are being created right now. Try again in a moment.',
}

/** Creates a checkout session and returns its URL. */
export type CheckOut = (group: GroupStore, input: CheckoutInput, idempotencyKey: string | undefined) => Promise<string>

export function createCheckouts(deps: OfferDeps): CheckOut {
  const checkouts = createSemaphore(checkoutLimit)
  const findOffers = createOfferFinder(deps)

  async function checkOut(group: GroupStore, input: CheckoutInput, key: string | undefined): Promise<string> {
    const plan = () => planCheckout(findOffers, group, input, deps.clock())
    if (key === undefined) return checkouts.run(group.groupId, async () => openSession(deps, group, await plan()))
    const call: IdempotentRequest = { endpoint, key, body: input }
    const earlier = await findClaim<Plan, string>(group, call, deps.clock())
    if (earlier?.answer !== undefined) return earlier.answer
    return checkouts.run(group.groupId, async () => openOnce(deps, group, call, earlier?.request ?? (await plan())))
  }

  return async (...call) => {
    try {
      return await checkOut(...call)
    } catch (error) {
      throw error instanceof ProviderFailure ? explain(error) : error
    }
  }
}
