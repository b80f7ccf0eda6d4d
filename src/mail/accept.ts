import { checkRecipient, headMail, type MailWish } from '../content/mail-requests.ts'
import { invalid } from '../errors.ts'
import type { Call } from '../http/endpoint.ts'
import { writeContent } from '../store/changes.ts'
import { type Asked, answerOnce } from '../store/idempotency.ts'
import { insertMessage } from '../store/messages.ts'
import { listSites } from '../store/sites.ts'
import { dayMs, takeFromQuota } from '../store/tallies.ts'
import type { Mail } from './mail.ts'
import { sanitiseBox, sanitiseCustom } from './sanitise.ts'

type Circumstances = Pick<Call<unknown, unknown>, 'tenant' | 'group' | 'idempotencyKey' | 'origin' | 'nowMs'>

const endpointOf = { contact: 'sendContactEmail', order: 'sendOrderPlacedEmail' } as const

/** Without its tags; pictures are something to look at. */
const showsNothing = (html: string): boolean => html.replace(/<(?!img\b)[^>]*>|&nbsp;|\s/g, '') === ''

/** Markup is made safe once, here: what is kept can be shown. */
function makeSafe({ customHtml, texts: { whiteBoxText } }: MailWish) {
  const safe = {
    whiteBoxHtml: whiteBoxText === undefined ? undefined : sanitiseBox(whiteBoxText),
    customHtml: customHtml === undefined ? undefined : sanitiseCustom(customHtml),
  }
  if (safe.customHtml !== undefined && showsNothing(safe.customHtml))
    throw invalid('customHtml holds nothing that an e-mail can show.')
  return safe
}

/** Puts an e-mail into the outbox. When this answers, the message is on disk, and will be delivered. */
export async function acceptMail(
  { dailyLimits, senderOf }: Pick<Mail, 'dailyLimits' | 'senderOf'>,
  { tenant, group, idempotencyKey, origin, nowMs }: Circumstances,
  wish: MailWish,
): Promise<true> {
  const { kind, to: recipient, customerEmail, visitor, texts } = wish
  const verb = endpointOf[kind]
  const safe = makeSafe(wish)
  const asked: Asked | undefined =
    idempotencyKey === undefined ? undefined : { endpoint: verb, key: idempotencyKey, body: wish }
  const quota = {
    subject: 'mail',
    most: dailyLimits[tenant.tier],
    stretchMs: dayMs,
    complaint: `The group has sent its ${dailyLimits[tenant.tier]} e-mails of today.`,
  }
  const authoring = { author: { id: null, name: verb, address: '' }, verb, nowMs, versionsKept: 0 }
  return writeContent(group, authoring, (writer) =>
    answerOnce<true>(writer, asked, async () => {
      const sites = await listSites(writer.group)
      checkRecipient(wish, sites)
      await takeFromQuota(writer, quota)
      const { siteId, siteName, subject, replyTo } = headMail(wish, sites, origin)
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
      const senderDomain = (await senderOf(writer.group)).replace(/^.*@/, '')
      await insertMessage(writer, { kind, recipient, replyTo, subject, content, senderDomain })
      return true
    }),
  )
}
