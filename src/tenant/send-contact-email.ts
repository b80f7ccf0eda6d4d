import { parseContactMail } from '../content/mail-requests.ts'
import { Type } from '../core/type.ts'
import { mailAnswer } from '../http/answer-schemas.ts'
import { withRule } from '../http/check-input.ts'
import { defineEndpoint, type Endpoint } from '../http/endpoint.ts'
import { emailAddress, filledText, nameText, senderFields, someTexts, withRecipient } from '../http/mail-fields.ts'
import { acceptMail } from '../mail/accept.ts'

const maxMessageLength = 20_000
const maxCustomLength = 200_000

const fields = Type.Object({
  name: nameText('The visitor’s name, shown in the subject.', 'Ada Lindqvist'),
  to: Type.Optional(emailAddress('The recipient. Required.', 'hello@bakery.example')),
  message: filledText(maxMessageLength, 'The visitor’s message, as plain text.', 'Do you bake without rye?'),
  siteName: nameText('The site’s name, shown in the subject.', 'Corner Bakery'),
  customHtml: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxCustomLength,
      description:
        'The whole e-mail as HTML, instead of the template. Scripts, forms and all external resources except pictures are removed. At most 5,000 tags.',
    }),
  ),
  htmlInfo: Type.Optional(someTexts),
  customerEmail: Type.Optional(emailAddress('The visitor’s address, for replies.', 'ada@visitor.example')),
  ...senderFields,
})

const body = withRule(
  withRecipient(fields),
  'customHtml or htmlInfo is required: the content of the e-mail',
  (given) => 'customHtml' in given || 'htmlInfo' in given,
)

/** spec §4.7 */
export const sendContactEmail: Endpoint = (deps) =>
  defineEndpoint({
    summary: 'A contact e-mail',
    description:
      'Sends a visitor’s message to the owner of the site. `true` means that the message is stored and will be delivered as soon as the mail server accepts it.\n\n`customHtml` or `htmlInfo` is required. If sites list allowed recipients, only those are accepted; if none does, only addresses that the sites name in `businessInfo` and those in their domains. Sites that name neither accept any recipient.\n\nSend an `Idempotency-Key`, and retry with it if no answer arrives: only one e-mail is sent.',
    query: Type.Object({}),
    body,
    honoursIdempotencyKey: true,
    answer: mailAnswer,
    status: 201,
    isBare: true,
    failures: ['RecipientNotAllowed', 'QuotaExceeded'],
    handle: async (call) => acceptMail(deps.mail, call, parseContactMail(call.body)),
  })(deps)
