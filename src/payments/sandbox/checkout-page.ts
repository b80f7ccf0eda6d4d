import { hash } from 'node:crypto'
import { isOrigin } from '../../content/addresses.ts'
import { mainUnits } from '../../content/amounts.ts'
import { escapeHtml } from '../../content/escape-html.ts'
import { pageIcon } from '../../http/page-icon.ts'
import type { Price, Session, SessionLine, SessionRecord } from './objects.ts'

const sessionPlaceholder = '{CHECKOUT_SESSION_ID}'

const style = `:root { color-scheme: light dark; --ink: #1b2530; --soft: #566473; --line: #d5dce3; --paper: #fff; --ground: #eef1f4;
  --accent: #14608f; --on-accent: #fff; --mark: #7a4b00; --mark-ground: #ffefcf; --bad: #a3191f }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #a5b2bf; --line: #3a4652; --paper: #1c242c;
  --ground: #12181e; --accent: #79c0ee; --on-accent: #0d1b26; --mark: #ffd998; --mark-ground: #46330f; --bad: #ff9ea1 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
.mark { margin: 0; padding: .6rem 1rem; background: var(--mark-ground); color: var(--mark); text-align: center; font-weight: 600 }
main { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; display: grid; gap: 1.5rem }
@media (min-width: 46rem) { main.pay { grid-template-columns: 1fr 1fr; align-items: start } }
section, form { background: var(--paper); border: 1px solid var(--line); border-radius: 12px; padding: 1.5rem }
h1 { margin: 0 0 1rem; font-size: 1.15rem; overflow-wrap: anywhere } h2 { margin: 0 0 1rem; font-size: 1.05rem }
table { width: 100%; border-collapse: collapse } td, th { padding: .5rem 0; text-align: left; vertical-align: top; font-weight: 400 }
td:last-child { padding-left: 1rem; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
th { overflow-wrap: anywhere } small { display: block; color: var(--soft) }
tfoot td, tfoot th { border-top: 1px solid var(--line); padding-top: .8rem; font-weight: 700; font-size: 1.15rem }
label { display: block; margin-bottom: .9rem; font-size: .9rem; font-weight: 600 }
input, select { display: block; width: 100%; margin-top: .25rem; padding: .6rem .7rem; font: inherit; font-weight: 400; color: inherit;
  background: var(--paper); border: 1px solid var(--soft); border-radius: 8px }
fieldset { margin: 0 0 .5rem; padding: 0; border: 0 } legend { padding: 0; margin-bottom: .8rem; font-weight: 700 }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: .8rem }
button { width: 100%; margin-top: .6rem; padding: .75rem; font: inherit; font-weight: 600; color: var(--accent); background: none;
  border: 1px solid var(--accent); border-radius: 8px; cursor: pointer }
button.pay { color: var(--on-accent); background: var(--accent); font-size: 1.1rem }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
a { color: var(--accent) } section > :last-child { margin-bottom: 0 } .problem { color: var(--bad); font-weight: 600 }
.later { margin: 1.4rem 0 0; color: var(--soft); font-size: .9rem }`

/** Allows the page's own style only. For forms, browsers also check where the response redirects to. */
export function pagePolicy({ success_url: successUrl }: Pick<Session, 'success_url'>): string {
  const origin = URL.parse(successUrl)?.origin ?? ''
  // A host may contain characters such as `;` that would change the policy.
  const targets = isOrigin(origin) ? `'self' ${origin}` : "'self'"
  const styleHash = hash('sha256', style, 'base64')
  return `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; form-action ${targets}; base-uri 'none'; frame-ancestors 'none'`
}

/** Formats amounts of one currency. Creating a formatter takes longer than using it a hundred times. */
function amountsIn(currency: string): (amount: number) => string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  return (amount) => format.format(Number(mainUnits(currency, String(amount))))
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${escapeHtml(title)}</title>${pageIcon}<style>${style}</style></head>
<body><header class="mark">Sandbox: no money moves.</header>
${content}
</body></html>`
}

function rowOf(
  { description, quantity, amount }: SessionLine,
  recurring: Price['recurring'] | undefined,
  shown: (amount: number) => string,
): string {
  const every =
    recurring?.interval_count === 1 ? recurring.interval : `${recurring?.interval_count} ${recurring?.interval}s`
  const rhythm = recurring ? `, every ${every}` : ''
  return `<tr><th scope="row">${escapeHtml(description)}<small>Quantity ${quantity}${rhythm}</small></th><td>${shown(amount)}</td></tr>`
}

/** A customer's input, shown again if it was not accepted. */
export type Typed = Partial<Record<string, string>>

const field = (name: string, label: string, typed: Typed, attributes: string): string =>
  `<label>${label}<input name="${name}" value="${escapeHtml(typed[name] ?? '')}" maxlength="200" ${attributes}></label>`

let regionNames: Intl.DisplayNames | undefined

function countrySelect(countries: readonly string[], chosen: string | undefined): string {
  regionNames ??= new Intl.DisplayNames('en', { type: 'region', fallback: 'code' }) // slow: not at start-up
  const names = regionNames
  const nameOf = (code: string): string => (/^[A-Z]{2}$/.test(code) ? (names.of(code) ?? code) : code)
  const options = countries.map(
    (code) =>
      `<option value="${escapeHtml(code)}"${code === chosen ? ' selected' : ''}>${escapeHtml(nameOf(code))}</option>`,
  )
  return `<label>Country<select name="country" autocomplete="shipping country" required>${options.join('')}</select></label>`
}

const addressFields = (countries: readonly string[], typed: Typed): string =>
  `<fieldset><legend>Shipping address</legend>
${countrySelect(countries, typed.country)}
${field('line1', 'Street and number', typed, 'autocomplete="shipping address-line1" required')}
${field('line2', 'Apartment, floor (optional)', typed, 'autocomplete="shipping address-line2"')}
<div class="pair">${field('postal_code', 'Postal code', typed, 'autocomplete="shipping postal-code"')}
${field('city', 'City', typed, 'autocomplete="shipping address-level2" required')}</div>
${field('state', 'State or province (optional)', typed, 'autocomplete="shipping address-level1"')}</fieldset>`

export function renderCheckout(record: SessionRecord, action: string, typed: Typed, problem?: string): string {
  const { session, lines, prices } = record
  const { currency, amount_total: amount, cancel_url: cancelUrl, shipping_address_collection: shipping } = session
  const recurringOf = (id: string) => prices.find((price) => price.id === id)?.recurring
  const business = session.branding_settings?.display_name ?? ''
  const shown = amountsIn(currency)
  const total = shown(amount)
  const filled = { ...typed, email: typed.email ?? session.customer_email ?? '' }
  return page(
    `Pay ${business}`,
    `<main class="pay"><section><h1>${escapeHtml(business)}</h1>
<table><tbody>${lines
      .map((line) => rowOf(line, recurringOf(line.priceId), shown))
      .join('')}</tbody><tfoot><tr><th scope="row">Total</th><td>${total}</td></tr></tfoot></table>
${cancelUrl === null ? '' : `<p><a href="${escapeHtml(cancelUrl)}">Cancel and go back</a></p>`}</section>
<form method="post" action="${escapeHtml(action)}"><h2>Your details</h2>
${problem === undefined ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`}
${field('email', 'E-mail', filled, 'type="email" autocomplete="email" required')}
${field('name', 'Name', filled, 'autocomplete="name"')}
${shipping ? addressFields(shipping.allowed_countries, filled) : ''}
<button class="pay" name="outcome" value="paid">Pay ${total}</button>
<p class="later">Or try a bank debit, whose result arrives a few seconds later:</p>
<button name="outcome" value="paid-later">Pay later: the payment succeeds</button>
<button name="outcome" value="fails-later">Pay later: the payment fails</button></form></main>`,
  )
}

/** The page of a completed or expired session. */
export function renderEnd({ status, success_url: successUrl, cancel_url: cancelUrl }: Session, id: string): string {
  const complete = status === 'complete'
  const back = complete ? returnUrl(successUrl, id) : cancelUrl
  const words = complete ? 'This has already been paid.' : 'This page has expired. Start again in the shop.'
  const link = back ? `<p><a href="${escapeHtml(back)}">Back to the shop</a></p>` : ''
  return page(words, `<main><section><h1>${words}</h1>${link}</section></main>`)
}

export const returnUrl = (successUrl: string, id: string): string => successUrl.replaceAll(sessionPlaceholder, id)
