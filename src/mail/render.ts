import type { MessageContent } from '../content/mail.ts'
import { findText } from '../content/texts.ts'
import type { Message } from '../store/mail/messages.ts'
import { lightPalette } from './colors.ts'
import { toPlainText, wordsOf, wrapText } from './plain-text.ts'
import type { SiteLook } from './site-look.ts'
import { dressBox } from './templates/dressed-box.ts'
import { layOut } from './templates/layout.ts'
import { submissionCard, submissionText } from './templates/submission-card.ts'
import { visitorCard, visitorText } from './templates/visitor-card.ts'

type Rendered = { html: string; text: string }
type WholeVisitor = NonNullable<MessageContent['visitor']>

const maxPreviewLength = 140
const shortestMessage = 20

const isWordCharacter = (character: string | undefined): boolean => /[\p{L}\p{N}]/u.test(character ?? '')

/** Whether one text has the words of another in it, and not only their letters: "book" does not say "ok". */
function says(text: string | undefined, other: string | undefined): boolean {
  const [whole, part] = [wordsOf(text ?? ''), wordsOf(other ?? '')]
  const at = findText(whole, part)
  if (part === '') return true
  return at >= 0 && !isWordCharacter(whole[at - 1]) && !isWordCharacter(whole[at + part.length])
}

/** A few words may be there by chance: rather twice than not at all. */
function saysMessage(text: string | undefined, message: string): boolean {
  const isByChance = wordsOf(message).length < shortestMessage && wordsOf(text ?? '') !== wordsOf(message)
  return !isByChance && says(text, message)
}

/** A message is never missing, and not there twice; nor is who wrote it. */
function notSaid(visitor: WholeVisitor, whiteBox: string | undefined, others: (string | undefined)[]) {
  const { name, email, message } = visitor
  if (!saysMessage(whiteBox, message)) return { name, email, message: message.trim() }
  const isSaid = (words: string | undefined): boolean => [whiteBox, ...others].some((text) => says(text, words))
  return isSaid(name) && isSaid(email) ? undefined : { name, email }
}

const joined = (parts: (string | undefined)[]): string => parts.filter(Boolean).join('\n\n')

const titleOf = ({ title, visitor }: MessageContent, subject: string): string =>
  title ?? (visitor ? `New message from ${visitor.name}` : subject)

const previewOf = (texts: (string | undefined)[]): string =>
  Array.from(wordsOf(texts.find(Boolean) ?? ''))
    .slice(0, maxPreviewLength)
    .join('')

const furtherText = (count: number): string | undefined => (count > 0 ? `And ${count} more.` : undefined)

function footerText({ name, domainName }: SiteLook): string {
  return `-- \n${name}${domainName === '' ? '' : `\nhttps://${domainName}`}`
}

/** What the caller wrote takes the template's place; what the visitor wrote is not lost even if it is not in there. */
function renderCustom(customHtml: string, { visitor }: MessageContent, subject: string): Rendered {
  const words = toPlainText(customHtml)
  const isMissing = visitor && !saysMessage(words, visitor.message)
  const text = joined([words, isMissing ? visitorText(visitor) : undefined]) || subject
  const head = '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">'
  return { html: `<!doctype html>\n<html>\n<head>\n${head}\n</head>\n<body>\n${customHtml}\n</body>\n</html>\n`, text }
}

function renderTemplate(content: MessageContent, subject: string, look: SiteLook): Rendered {
  const palette = lightPalette(look.colors)
  const { subtitle, signature, whiteBoxHtml: whiteBox, visitor, submissions = [], furtherSubmissions = 0 } = content
  const title = titleOf(content, subject)
  const whiteBoxText = whiteBox && toPlainText(whiteBox)
  const shownVisitor = visitor && notSaid(visitor, whiteBoxText, [title, subtitle, signature])
  const further = furtherText(furtherSubmissions)

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

/** The words of a message as markup and as plain text. The logo, where there is one, is the part `cid:logo`. */
export function renderMessage({ subject, content }: Pick<Message, 'subject' | 'content'>, look: SiteLook): Rendered {
  return content.customHtml === undefined
    ? renderTemplate(content, subject, look)
    : renderCustom(content.customHtml, content, subject)
}
