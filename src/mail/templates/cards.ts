import { escapeHtml, textToMarkup } from '../../content/escape-html.ts'
import type { MessageContent, SubmissionSummary } from '../../content/mail.ts'
import { toIso } from '../../content/moments.ts'
import type { Palette } from '../colors.ts'
import { anyLanguage } from './layout.ts'

/** Without the message if another text contains it. */
type Visitor = Omit<NonNullable<MessageContent['visitor']>, 'message'> & { message?: string | undefined }

/** The message of a contact form. */
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

const approvalNote = 'Waits for your approval'

/** Such as "2026-03-01 12:00 UTC". */
const moment = (ms: number): string => `${toIso(ms).slice(0, 16).replace('T', ' ')} UTC`

export function submissionCard({ collection, createdMs, waits, fields }: SubmissionSummary, palette: Palette): string {
  const { boxMutedText, border, accent } = palette
  const muted = `font-size:13px;color:${boxMutedText}`
  const rows = fields.map(
    ({ name, text }) =>
      `<div class="line" style="margin:14px 0 0;padding:14px 0 0;border-top:1px solid ${border}"><div class="muted" ${anyLanguage} style="${muted}">${escapeHtml(name)}</div><div ${anyLanguage}>${textToMarkup(text)}</div></div>`,
  )
  const note = waits
    ? `<div style="margin:8px 0 0;padding:0 0 0 10px;border-left:3px solid ${accent};font-size:14px;font-weight:600">${approvalNote}</div>`
    : ''
  return `<div ${anyLanguage} style="font-size:17px;font-weight:700">${escapeHtml(collection)}</div>
<div class="muted" style="${muted}">${moment(createdMs)}</div>${note}
${rows.join('\n')}`
}

export function submissionText({ collection, createdMs, waits, fields }: SubmissionSummary): string {
  const lines = fields.map(({ name, text }) => `${name}: ${text.trim().replaceAll('\n', '\n  ')}`)
  return [`${collection}, ${moment(createdMs)}`, ...(waits ? [`${approvalNote}.`] : []), ...lines].join('\n')
}
