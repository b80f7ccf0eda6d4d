import { readContactWish } from '../content/mail-requests.ts'
import { Type } from '../core/type.ts'
import { mailAnswer } from '../http/answer-schemas.ts'
import { withRule } from '../http/check-input.ts'
import { defineEndpoint, type Endpoint } from '../http/endpoint.ts'
import { emailAddress, filledText, nameText, senderFields, someTexts, withRecipient } from '../http/mail-fields.ts'
import { acceptMail } from '../mail/accept.ts'

const maxMessageLength = 20_000
const maxCustomLength = 200_000

const fields = Type.Object({
  name: nameText('Who writes; it stands in the subject.', 'Ada Lindqvist'),
  to: Type.Optional(emailAddress('The one address that it goes to. Required.', 'hello@bakery.example')),
  message: filledText(maxMessageLength, 'What they write. Plain text.', 'Do you bake without rye?'),
  siteName: nameText('The site’s name; it stands in the subject.', 'Corner Bakery'),
  customHtml: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxCustomLength,
      description:
        'The whole e-mail as markup, in place of the template. Scripts, forms and all that loads from elsewhere but pictures are taken out. At most 5,000 tags.',
    }),
  ),
  htmlInfo: Type.Optional(someTexts),
  customerEmail: Type.Optional(emailAddress('Who writes: answers to the e-mail go there.', 'ada@visitor.example')),
  ...senderFields,
})

const body = withRule(
  withRecipient(fields),
  'customHtml or htmlInfo is required: what the e-mail is made of',
  (given) => 'customHtml' in given || 'htmlInfo' in given,
)

/** spec §4.7 */
export const sendContactEmail: Endpoint = (deps) =>
  defineEndpoint({
    summary: 'A contact e-mail',
    description:
      'Sends what a visitor wrote to the owner of the site. `true` means that the message is kept and will be delivered, now or as soon as the mail server takes it.\n\nOne of `customHtml` and `htmlInfo` must be given. Where sites list their recipients, it goes to those only; where none does, to addresses that the sites name in `businessInfo` and to those in their domains. Sites that name neither refuse nobody.\n\nSend an `Idempotency-Key` and ask again with it when an answer does not come: there will be one e-mail.',
    query: Type.Object({}),
    body,
    honoursIdempotencyKey: true,
    answer: mailAnswer,
    status: 201,
    isBare: true,
    failures: ['RecipientNotAllowed', 'QuotaExceeded'],
    handle: async (call) => acceptMail(deps.mail, call, readContactWish(call.body)),
  })(deps)
