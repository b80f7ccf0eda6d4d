import type { MessageContent } from '../content/mail.ts'
import { findText } from '../content/texts.ts'
import type { Message } from '../store/mail/messages.ts'
import { lightPalette } from './colors.ts'
import { toPlainText, wordsOf, wrapText } from './plain-text.ts'
import type { SiteLook } from './site-look.ts'
import { submissionCard, submissionText, visitorCard, visitorText } from './templates/cards.ts'
import { dressBox } from './templates/dressed-box.ts'
import { layOut } from './templates/layout.ts'

type Rendered = { html: string; text: string }
type WholeVisitor = NonNullable<MessageContent['visitor']>

const maxPreviewLength = 140
/** Shorter messages may occur in other texts by chance. */
const minDistinctLength = 20

const isWordCharacter = (character: string | undefined): boolean => /[\p{L}\p{N}]/u.test(character ?? '')

/** Whether a text contains another one as whole words: "book" does not contain "ok". */
function containsWords(text: string | undefined, other: string | undefined): boolean {
  const [whole, part] = [wordsOf(text ?? ''), wordsOf(other ?? '')]
  const index = findText(whole, part)
  if (part === '') return true
  return index >= 0 && !isWordCharacter(whole[index - 1]) && !isWordCharacter(whole[index + part.length])
}

/** False when in doubt: the message is better repeated than lost. */
function containsMessage(text: string | undefined, message: string): boolean {
  const mayBeChance = wordsOf(message).length < minDistinctLength && wordsOf(text ?? '') !== wordsOf(message)
  return !mayBeChance && containsWords(text, message)
}

/** The visitor's data that the caller's texts lack. */
function missingVisitorData(visitor: WholeVisitor, whiteBox: string | undefined, others: (string | undefined)[]) {
  const { name, email, message } = visitor
  if (!containsMessage(whiteBox, message)) return { name, email, message: message.trim() }
  const isPresent = (words: string | undefined): boolean =>
    [whiteBox, ...others].some((text) => containsWords(text, words))
  return isPresent(name) && isPresent(email) ? undefined : { name, email }
}

const joined = (parts: (string | undefined)[]): string => parts.filter(Boolean).join('\n\n')

const titleOf = ({ title, visitor }: MessageContent, subject: string): string =>
  title ?? (visitor ? `New message from ${visitor.name}` : subject)

const previewOf = (texts: (string | undefined)[]): string =>
  Array.from(wordsOf(texts.find(Boolean) ?? ''))
    .slice(0, maxPreviewLength)
    .join('')

const footerText = ({ name, domainName }: SiteLook): string =>
  `-- \n${name}${domainName === '' ? '' : `\nhttps://${domainName}`}`

/** The caller's markup replaces the template. The plain text adds the visitor's message if the markup lacks it. */
function renderCustom(customHtml: string, { visitor }: MessageContent, subject: string): Rendered {
  const words = toPlainText(customHtml)
  const isMissing = visitor && !containsMessage(words, visitor.message)
  const text = joined([words, isMissing ? visitorText(visitor) : undefined]) || subject
  const head = '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">'
  return { html: `<!doctype html>\n<html>\n<head>\n${head}\n</head>\n<body>\n${customHtml}\n</body>\n</html>\n`, text }
}

function renderTemplate(content: MessageContent, subject: string, look: SiteLook): Rendered {
  const palette = lightPalette(look.colors)
  const { subtitle, signature, whiteBoxHtml: whiteBox, visitor, submissions = [], furtherSubmissions = 0 } = content
  const title = titleOf(content, subject)
  const whiteBoxText = whiteBox && toPlainText(whiteBox)
  const shownVisitor = visitor && missingVisitorData(visitor, whiteBoxText, [title, subtitle, signature])
  const further = furtherSubmissions > 0 ? `And ${furtherSubmissions} more.` : undefined

  const html = layOut(
    {
      preview: previewOf([visitor?.message, subtitle, whiteBoxText, submissions[0]?.fields[0]?.text, subject]),
      title,
      subtitle,
      signature,
      boxes: [
        ...(whiteBox === undefined ? [] : [dressBox(whiteBox, palette)]),
        ...(shownVisitor ? [visitorCard(shownVisitor, palette)] : []),
        ...submissions.map((submission) => submissionCard(submission, palette)),
      ],
      note: further,
    },
    look,
  )
  const text = joined([
    wrapText(title),
    subtitle && wrapText(subtitle),
    whiteBoxText,
    shownVisitor && visitorText(shownVisitor),
    ...submissions.map(submissionText),
    further,
    signature && wrapText(signature),
    footerText(look),
  ])
  return { html, text: `${text}\n` }
}

/** The body as markup and as plain text. The logo, if any, is the part `cid:logo`. */
export function renderMessage({ subject, content }: Pick<Message, 'subject' | 'content'>, look: SiteLook): Rendered {
  return content.customHtml === undefined
    ? renderTemplate(content, subject, look)
    : renderCustom(content.customHtml, content, subject)
}
