import { hash } from 'node:crypto'
import { escapeHtml } from '../content/escape-html.ts'
import { toIso } from '../content/moments.ts'
import { pageIcon } from '../http/page-icon.ts'
import type { Group } from '../store/control/groups.ts'
import type { Message, MessageHead } from '../store/mail/messages.ts'
import type { RenderedMessage } from './types.ts'

const style = `:root { color-scheme: light dark; --ink: #1b2530; --soft: #566473; --line: #dbe1e7; --paper: #fff; --ground: #eef1f4;
  --accent: #14608f; --hover: #f6f8fa; --good: #0d6b3f; --good-ground: #dcf3e6; --wait: #7a4b00; --wait-ground: #ffefcf;
  --bad: #a3191f; --bad-ground: #fde4e3 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #a5b2bf; --line: #35414d; --paper: #1c242c; --ground: #12181e;
  --accent: #79c0ee; --hover: #232d36; --good: #8fe3b4; --good-ground: #12402a; --wait: #ffd998; --wait-ground: #46330f;
  --bad: #ffb0b1; --bad-ground: #4d1c1e } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 4rem }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.3; overflow-wrap: anywhere } h2 { margin: 2rem 0 .6rem; font-size: 1rem }
p { margin: .3rem 0 1rem; color: var(--soft) } a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: -3px }
.paper { margin: 1.2rem 0 0; background: var(--paper); border: 1px solid var(--line); border-radius: 12px; overflow: hidden }
.row { display: grid; grid-template-columns: 6.5rem 1fr auto; gap: .1rem 1rem; padding: .8rem 1.1rem; color: inherit; text-decoration: none }
ul { padding: 0; list-style: none } li + li { border-top: 1px solid var(--line) } .row:hover { background: var(--hover) }
.subject { font-weight: 600; overflow-wrap: anywhere } .more { grid-column: 2 / -1; color: var(--soft); font-size: .9rem; overflow-wrap: anywhere }
time { color: var(--soft); font-size: .85rem; white-space: nowrap; font-variant-numeric: tabular-nums }
.state { justify-self: start; align-self: start; padding: .1rem .6rem; border-radius: 99px; font-size: .8rem; font-weight: 600;
  color: var(--soft); background: var(--ground) }
.sent { color: var(--good); background: var(--good-ground) } .waiting { color: var(--wait); background: var(--wait-ground) }
.failed { color: var(--bad); background: var(--bad-ground) } .problem { color: var(--bad) }
.empty { padding: 3rem 1.5rem; text-align: center; color: var(--soft) }
dl { display: grid; grid-template-columns: 7rem 1fr; gap: .35rem 1rem; padding: 1.1rem } dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere } dd time { color: inherit; font-size: inherit }
iframe { display: block; width: 100%; height: 75vh; border: 0; border-radius: 11px; background: #fff } code { font-size: .9em }
pre { padding: 1.1rem; white-space: pre-wrap; overflow-wrap: anywhere; font: .9rem/1.5 ui-monospace, monospace }
@media (max-width: 40rem) { .row { grid-template-columns: 1fr auto; padding: .8rem } .subject { grid-column: 1 / -1; grid-row: 2 }
  .more { grid-column: 1 / -1 } dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .6rem } }`

/** Polls for new e-mails. Replacing the content, unlike a reload, keeps the scroll position. */
const pollScript = `setInterval(async () => {
  const answer = await fetch(location.href).catch(() => undefined)
  if (!answer?.ok) return
  const found = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main')
  const shown = document.querySelector('main')
  if (found && found.innerHTML !== shown.innerHTML) shown.replaceWith(document.adoptNode(found))
}, 3000)`

const hashOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

export const pagePolicy = `default-src 'none'; img-src data:; style-src ${hashOf(style)}; script-src ${hashOf(pollScript)}; connect-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`

/** An e-mail is untrusted markup: it may have any style, but neither run nor load anything. Links open a new tab. */
const mayOpenTabs = 'allow-popups allow-popups-to-escape-sandbox'
export const framePolicy = `default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox ${mayOpenTabs}`

function page(title: string, content: string, { isWatched }: { isWatched: boolean }): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${escapeHtml(title)}</title>${pageIcon}<style>${style}</style></head>
<body><main aria-live="polite">${content}</main>${isWatched ? `<script>${pollScript}</script>` : ''}</body></html>`
}

const shownTime = (ms: number): string => {
  const iso = toIso(ms)
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`
}

const shownState = ({ state }: MessageHead): string => `<span class="state ${state}">${state}</span>`

const problemOf = ({ problem }: MessageHead): string =>
  problem === null ? '' : `<span class="more problem">${escapeHtml(problem)}</span>`

function rowOf(message: MessageHead, groupName: string): string {
  const { id, groupId, subject, recipient, createdMs } = message
  return `<li><a class="row" href="${groupId}/${id}/">${shownState(message)}<span class="subject">${escapeHtml(subject)}</span>${shownTime(createdMs)}
<span class="more">${escapeHtml(`${groupName} to ${recipient}`)}</span>${problemOf(message)}</a></li>`
}

const empty = `<div class="paper empty">Nothing yet. E-mails that your site sends appear here automatically.<br>
To try it: <code>npx sluice mail test &lt;group&gt; you@example.com</code></div>`

export function renderList(messages: readonly MessageHead[], groupNames: ReadonlyMap<string, string>): string {
  const rows = messages.map((message) => rowOf(message, groupNames.get(message.groupId) ?? 'a deleted group'))
  return page(
    'Mailbox',
    `<h1>Mailbox</h1><p>What would be sent if there were a mail server. Nobody else gets these e-mails. Times are in UTC.</p>
${rows.length === 0 ? empty : `<ul class="paper">${rows.join('\n')}</ul>`}`,
    { isWatched: true },
  )
}

interface MessageView {
  message: Message
  rendered: RenderedMessage
  owner: Pick<Group, 'name'>
  /** Whether its file can be downloaded. */
  isInMailbox: boolean
}

const entry = (name: string, html: string): string => `<dt>${name}</dt><dd>${html}</dd>`

export function renderMessagePage({ message, rendered, owner, isInMailbox }: MessageView): string {
  const { state, subject, recipient, replyTo, messageId, attempts, problem, createdMs, kind } = message
  const { from, text } = rendered
  const entries = [
    entry('State', `${shownState(message)}${attempts > 1 ? ` after ${attempts} attempts` : ''}`),
    ...(problem === null ? [] : [entry('Problem', `<span class="problem">${escapeHtml(problem)}</span>`)]),
    entry('From', escapeHtml(`${from.name} <${from.address}>`)),
    entry('To', escapeHtml(recipient)),
    ...(replyTo === null ? [] : [entry('Reply-To', escapeHtml(replyTo))]),
    entry('Date', `${shownTime(createdMs)} UTC`),
    entry('Message-ID', escapeHtml(`<${messageId}>`)),
    entry('Group', `${escapeHtml(owner.name)}, ${kind}`),
    ...(isInMailbox ? [entry('File', `<a href="message.eml" download>Download as .eml</a>`)] : []),
  ]
  return page(
    subject,
    `<p><a href="../../">← Mailbox</a></p><h1>${escapeHtml(subject)}</h1>
<dl class="paper">${entries.join('')}</dl>
<h2>As it looks</h2><div class="paper"><iframe src="html" title="The e-mail" sandbox="${mayOpenTabs}" referrerpolicy="no-referrer"></iframe></div>
<h2>As plain text</h2><pre class="paper">${escapeHtml(text)}</pre>`,
    { isWatched: state === 'waiting' },
  )
}

/** The e-mail's own markup, for its frame. The logo, an attachment of the e-mail, becomes a data URL. */
export function renderFrame({ html, logo }: RenderedMessage): string {
  const source = logo ? `data:${logo.contentType};base64,${logo.content.toString('base64')}` : 'data:,'
  return html
    .replace('src="cid:logo"', `src="${source}"`)
    .replace(/<head[^>]*>/i, (head) => `${head}<base target="_blank">`)
}
