import { escapeHtml, textToMarkup } from '../../content/escape-html.ts'
import type { SubmissionSummary } from '../../content/mail.ts'
import { toIso } from '../../content/moments.ts'
import type { Palette } from '../colors.ts'
import { anyLanguage } from './layout.ts'

const approvalNote = 'Waits for your approval'

/** Such as "2026-03-01 12:00 UTC". */
const moment = (ms: number): string => `${toIso(ms).slice(0, 16).replace('T', ' ')} UTC`

/** One thing that a visitor sent in. */
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
