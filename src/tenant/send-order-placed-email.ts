import { parseOrderMail } from '../content/mail-requests.ts'
import { Type } from '../core/type.ts'
import { mailAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint, type Endpoint } from '../http/endpoint.ts'
import { allTexts, emailAddress, nameText, senderFields, withRecipient } from '../http/mail-fields.ts'
import { acceptMail } from '../mail/accept.ts'

const body = withRecipient(
  Type.Object({
    to: Type.Optional(emailAddress('The customer’s address. Required.', 'ada@customer.example')),
    htmlInfo: allTexts,
    siteName: Type.Optional(nameText('The site’s name. Default: the one in its settings.', 'Corner Bakery')),
    customerEmail: Type.Optional(
      emailAddress(
        'The address for replies. Default: the e-mail address in the site’s `businessInfo`.',
        'shop@bakery.example',
      ),
    ),
    ...senderFields,
  }),
)

/** spec §4.8 */
export const sendOrderPlacedEmail: Endpoint = (deps) =>
  defineEndpoint({
    summary: 'An order confirmation by e-mail',
    description:
      'Confirms an order to the customer. `true` means that the message is stored and will be delivered as soon as the mail server accepts it.\n\nA tenth of the daily quota may go to addresses that have no order in the group.\n\nSend an `Idempotency-Key`, such as the id of the checkout session, and retry with it if no answer arrives: only one e-mail is sent.',
    query: Type.Object({}),
    body,
    honoursIdempotencyKey: true,
    answer: mailAnswer,
    status: 201,
    isBare: true,
    failures: ['QuotaExceeded'],
    handle: async (call) => acceptMail(deps.mail, call, parseOrderMail(call.body)),
  })(deps)
