import { escapeHtml, textToMarkup } from '../../content/escape-html.ts'
import type { MessageContent } from '../../content/mail.ts'
import type { Palette } from '../colors.ts'
import { anyLanguage } from './layout.ts'

/** Without the message where it is said elsewhere. */
export type Visitor = Omit<NonNullable<MessageContent['visitor']>, 'message'> & { message?: string | undefined }

/** What a visitor wrote, and how to answer. */
export function visitorCard({ name, email, message }: Visitor, { boxMutedText, boxLink, border }: Palette): string {
  const address = email?.split('@').map(encodeURIComponent).join('@')
  const link = email && `<a href="mailto:${address}" style="color:${boxLink}">${escapeHtml(email)}</a>`
  const hint = `border-top:1px solid ${border};font-size:13px;color:${boxMutedText}`
  return [
    `<div ${anyLanguage} style="font-size:17px;font-weight:700">${escapeHtml(name)}</div>`,
    ...(link ? [`<div style="font-size:14px">${link}</div>`] : []),
    ...(message ? [`<div ${anyLanguage} style="margin:16px 0 0">${textToMarkup(message)}</div>`] : []),
    ...(link
      ? [
          `<div class="muted line" style="margin:24px 0 0;padding:16px 0 0;${hint}">Answer by replying to this e-mail.</div>`,
        ]
      : []),
  ].join('\n')
}

export function visitorText({ name, email, message }: Visitor): string {
  const who = email ? `${name} <${email}>` : name
  return message ? `${who} wrote:\n\n${message.trim()}` : `From ${who}`
}
