import type { TObject } from 'typebox'
import { isEmailAddress, maxAddressLength } from '../content/email.ts'
import { isHeaderText } from '../content/texts.ts'
import { Type } from '../core/type.ts'
import { withRule } from './check-input.ts'

/** The fields of both e-mail endpoints; one schema validates, types and documents each. */

const maxNameLength = 200
const maxTextLength = 1000
const maxBoxLength = 100_000

/** Refuses addresses on the mail server's own machine, which no visitor has. */
const isVisitorsAddress = (text: string): boolean => isEmailAddress(text) && !text.toLowerCase().endsWith('@localhost')

export const emailAddress = (description: string, example: string) =>
  withRule(
    Type.String({ minLength: 1, maxLength: maxAddressLength, description, examples: [example] }),
    'must be one e-mail address such as hello@example.com',
    isVisitorsAddress,
  )

const headerText = (maxLength: number, description: string, example: string) =>
  withRule(
    Type.String({ minLength: 1, maxLength, description, examples: [example] }),
    'must be one line of text, and not blank',
    isHeaderText,
  )

export const nameText = (description: string, example: string) => headerText(maxNameLength, description, example)

export const filledText = (maxLength: number, description: string, example: string) =>
  withRule(
    Type.String({ minLength: 1, maxLength, description, examples: [example] }),
    'must not be blank',
    (text) => text.trim() !== '',
  )

const boxAbout =
  'The main block. Simple markup is kept; scripts, styles and pictures are not. At most 5,000 tags and line breaks.'

/** The texts of a contact e-mail, all optional. */
export const someTexts = Type.Object(
  {
    title: Type.Optional(Type.String({ maxLength: maxTextLength, examples: ['A message from your site'] })),
    subtitle: Type.Optional(Type.String({ maxLength: maxTextLength })),
    whiteBoxText: Type.Optional(Type.String({ maxLength: maxBoxLength, description: boxAbout })),
    signature: Type.Optional(Type.String({ maxLength: maxTextLength })),
  },
  { description: 'Texts for the template; `{}` for its defaults.' },
)

/** The texts of an order confirmation, all required. The title becomes the subject. */
export const allTexts = Type.Object({
  title: headerText(maxTextLength, 'The heading, and the subject.', 'Thank you for your order'),
  subtitle: filledText(maxTextLength, 'Below the heading.', 'We are baking it now.'),
  whiteBoxText: filledText(maxBoxLength, boxAbout, '<ul><li>2 × Sourdough, large</li></ul>'),
  signature: filledText(maxTextLength, 'How it ends.', 'The Corner Bakery'),
})

/** Fields of both that the specification does not require, and that clients send. */
export const senderFields = {
  contactEmail: Type.Optional(emailAddress('The same as `to`, for clients of the older form.', 'hello@bakery.example')),
  siteId: Type.Optional(
    Type.Unknown({
      description:
        'The site whose name and colours the e-mail has. Default: the site of that name, the one at the request’s `Origin`, or the first.',
    }),
  ),
}

/** A body with the rule that it must have a recipient. */
export const withRecipient = <Body extends TObject>(body: Body): Body =>
  withRule(body, 'to is required', (given: object) => 'to' in given || 'contactEmail' in given)
