import { styleText } from 'node:util'
import type { Finding } from './check.ts'
import type { CheckResult, Status } from './examine.ts'
import { counted } from './format.ts'

/** The style of results: symbols and colours in a terminal, plain ASCII everywhere else. */
export interface Look {
  mark(status: Status): string
  arrow: string
  dim(text: string): string
}

export const plainLook: Look = {
  mark: (status) => ({ fine: 'ok', attention: '! ', wrong: 'X ', 'not checked': '- ' })[status],
  arrow: '->',
  dim: (text) => text,
}

/** Regardless of the stream, since the caller has decided on colours. */
const paint = (style: 'green' | 'yellow' | 'red' | 'dim', text: string): string =>
  styleText(style, text, { validateStream: false })

export const richLook: Look = {
  mark: (status) =>
    ({
      fine: paint('green', '✓'),
      attention: paint('yellow', '!'),
      wrong: paint('red', '✗'),
      'not checked': paint('dim', '-'),
    })[status],
  arrow: '→',
  dim: (text) => paint('dim', text),
}

/** Names come from content and may contain control characters. */
const onOneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ')

function showFinding(finding: Finding, { mark, arrow, dim }: Look): string[] {
  const { level, what, examples = [], advice, commands = [] } = finding
  return [
    `   ${mark(level)} ${onOneLine(what)}`,
    ...examples.map((example) => dim(`        ${onOneLine(example)}`)),
    `      ${arrow} ${onOneLine(advice)}`,
    ...commands.map((command) => `          ${onOneLine(command)}`),
  ]
}

export function showResult({ name, status, reason, findings }: CheckResult, look: Look): string {
  const head = `${look.mark(status)} ${name}${reason === undefined ? '' : look.dim(`: not checked, ${reason}`)}`
  return [head, ...findings.flatMap((finding) => showFinding(finding, look))].join('\n')
}

export interface Summary {
  fine: number
  attention: number
  wrong: number
  notChecked: number
}

export function summarise(results: readonly CheckResult[]): Summary {
  const count = (wanted: Status): number => results.filter(({ status }) => status === wanted).length
  return {
    fine: count('fine'),
    attention: count('attention'),
    wrong: count('wrong'),
    notChecked: count('not checked'),
  }
}

export function showSummary({ fine, attention, wrong, notChecked }: Summary): string {
  const parts = [
    counted(fine, 'check is fine', 'checks are fine'),
    ...(attention > 0 ? [counted(attention, 'needs attention', 'need attention')] : []),
    ...(wrong > 0 ? [`${wrong} found something wrong`] : []),
    ...(notChecked > 0 ? [`${notChecked} could not run`] : []),
  ]
  return `${parts.join(', ')}.`
}
