import { checkRecipient, headMail, type MailInput } from '../content/mail-requests.ts'
import { invalid } from '../core/errors.ts'
import { isCustomer } from '../store/commerce/orders.ts'
import { endpointAuthoring, writeContent } from '../store/content/changes.ts'
import { runOnce } from '../store/content/idempotency.ts'
import { listSites } from '../store/content/sites.ts'
import { insertMessage } from '../store/mail/messages.ts'
import { consumeMailQuota, consumeUnknownRecipientQuota } from '../store/mail/quotas.ts'
import type { GroupStore, Tenant } from '../store/store.ts'
import { maxTags } from './tags.ts'
import type { Mail } from './types.ts'

interface RequestContext {
  tenant: Pick<Tenant, 'tier'>
  group: GroupStore
  idempotencyKey: string | undefined
  origin: string | undefined
  nowMs: number
}

const endpointOf = { contact: 'sendContactEmail', order: 'sendOrderPlacedEmail' } as const

/** Undefined when the markup has neither text nor pictures. */
const unlessBlank = (html: string): string | undefined =>
  html.replace(/<(?!img\b)[^>]*>|&nbsp;|\s/g, '') === '' ? undefined : html

const showsNothing = (name: string) => invalid(`${name} contains nothing that an e-mail can show.`)

type Sanitiser = typeof import('./sanitise.ts')

/** Sanitises all markup before it is stored. */
function makeSafe(sanitiser: Sanitiser, { kind, customHtml, texts: { whiteBoxText } }: MailInput) {
  const { sanitiseBox, sanitiseCustom, TooManyTags } = sanitiser
  function safeOf(name: string, markup: string | undefined, sanitise: (html: string) => string): string | undefined {
    if (markup === undefined) return undefined
    try {
      return unlessBlank(sanitise(markup))
    } catch (error) {
      if (error instanceof TooManyTags) throw invalid(`${name} must have at most ${maxTags} tags and line breaks.`)
      throw error
    }
  }
  const safe = {
    whiteBoxHtml: safeOf('htmlInfo.whiteBoxText', whiteBoxText, sanitiseBox),
    customHtml: safeOf('customHtml', customHtml, sanitiseCustom),
  }
  if (customHtml !== undefined && safe.customHtml === undefined) throw showsNothing('customHtml')
  // It lists what was ordered; contact e-mails need no box.
  if (kind === 'order' && safe.whiteBoxHtml === undefined) throw showsNothing('htmlInfo.whiteBoxText')
  return safe
}

/** Queues an e-mail in the outbox. When this resolves, the message is on disk and will be delivered. */
export async function acceptMail(
  { dailyLimits, databaseQuotas, senderOf }: Pick<Mail, 'dailyLimits' | 'databaseQuotas' | 'senderOf'>,
  { tenant, group, idempotencyKey: key, origin, nowMs }: RequestContext,
  input: MailInput,
): Promise<true> {
  const { kind, to: recipient, customerEmail, visitor, texts } = input
  const endpoint = endpointOf[kind]
  const sanitiser = await import('./sanitise.ts') // loaded on demand: many services send no mail
  return writeContent(group, endpointAuthoring(endpoint, nowMs, databaseQuotas[tenant.tier]), (writer) =>
    runOnce<true>(writer, { endpoint, key, body: input }, async () => {
      const sites = await listSites(writer.group)
      checkRecipient(input, sites)
      const dailyLimit = dailyLimits[tenant.tier]
      await consumeMailQuota(writer, dailyLimit)
      if (kind === 'order' && !(await isCustomer(writer, recipient)))
        await consumeUnknownRecipientQuota(writer, dailyLimit)
      const safe = makeSafe(sanitiser, input) // after the quotas, because it is expensive
      const { siteId, siteName, subject, replyTo } = headMail(input, sites, origin)
      const { title, subtitle, signature } = texts
      const content = {
        siteId,
        siteName,
        title,
        subtitle,
        signature,
        ...safe,
        visitor: visitor && { ...visitor, email: customerEmail },
      }
      const sender = await senderOf(writer.group)
      await insertMessage(writer, { kind, recipient, replyTo, subject, content, sender })
      return true
    }),
  )
}
