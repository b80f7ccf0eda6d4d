import { readOrderWish } from '../content/mail-requests.ts'
import { Type } from '../core/type.ts'
import { mailAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint, type Endpoint } from '../http/endpoint.ts'
import { allTexts, emailAddress, nameText, senderFields, withRecipient } from '../http/mail-fields.ts'
import { acceptMail } from '../mail/accept.ts'

const body = withRecipient(
  Type.Object({
    to: Type.Optional(emailAddress('The customer’s address. Required.', 'ada@customer.example')),
    htmlInfo: allTexts,
    siteName: Type.Optional(nameText('The site’s name, if it is not to be the one of its settings.', 'Corner Bakery')),
    customerEmail: Type.Optional(
      emailAddress(
        'Where answers go. Default: the e-mail address of the site’s `businessInfo`.',
        'shop@bakery.example',
      ),
    ),
    ...senderFields,
  }),
)

/** spec §4.8 */
export const sendOrderPlacedEmail: Endpoint = (deps) =>
  defineEndpoint({
    summary: 'An order’s confirmation by e-mail',
    description:
      'Tells a customer that the order was placed. `true` means that the message is kept and will be delivered, now or as soon as the mail server takes it.\n\nOf a day’s e-mails a tenth may go to addresses that no order of the group has.\n\nSend an `Idempotency-Key`, such as the id of the checkout session, and ask again with it when an answer does not come: there will be one e-mail.',
    query: Type.Object({}),
    body,
    honoursIdempotencyKey: true,
    answer: mailAnswer,
    status: 201,
    isBare: true,
    failures: ['QuotaExceeded'],
    handle: async (call) => acceptMail(deps.mail, call, readOrderWish(call.body)),
  })(deps)
