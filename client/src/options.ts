/** The part of `fetch` that the client uses. Wrap the global one to add a framework's cache hints or a proxy. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface ClientOptions {
  /** The URL of the service without `/tenant`: `https://content.example.com`. A path prefix is kept. */
  baseUrl: string
  /** The group's key, without a prefix. A server-side secret. */
  apiKey: string
  /** Instead of the global `fetch`. */
  fetch?: Fetch | undefined
  /** For each attempt, from the request to the last byte of the answer. Default 10 000, and 30 000 for a checkout. */
  timeoutMs?: number | undefined
  /** Maximum retries of a failed call. Default 2. */
  retries?: number | undefined
}

/** Validated options. */
export interface Settings {
  /** Without a trailing slash. */
  baseUrl: string
  apiKey: string
  fetch: Fetch
  timeoutMs: number
  checkoutTimeoutMs: number
  retries: number
}

const defaultTimeoutMs = 10_000
// The service itself waits for the payment provider, and tries more than once.
const defaultCheckoutTimeoutMs = 30_000
const maxTimeoutMs = 2 ** 31 - 1 // timers fire at once beyond it
const defaultRetries = 2
const maxRetries = 10

// No message repeats a value: a key passed as another option would end up in a log.
export function checkOptions(options: ClientOptions): Settings {
  return {
    baseUrl: checkBaseUrl(options.baseUrl),
    apiKey: checkApiKey(options.apiKey),
    // Looked up at each call, because frameworks replace the global; and called bare, because edge workers insist.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timeoutMs: checkInteger('timeoutMs', options.timeoutMs ?? defaultTimeoutMs, 1, maxTimeoutMs),
    checkoutTimeoutMs: options.timeoutMs ?? defaultCheckoutTimeoutMs,
    retries: checkInteger('retries', options.retries ?? defaultRetries, 0, maxRetries),
  }
}

function checkBaseUrl(baseUrl: unknown): string {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new TypeError('baseUrl must be an absolute http or https address, such as https://content.example.com')
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl must not carry a user name, a password, a query or a fragment')
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function checkApiKey(apiKey: unknown): string {
  if (typeof apiKey !== 'string' || apiKey === '') {
    throw new TypeError('apiKey must be a non-empty string; is the environment variable set?')
  }
  // fetch would refuse such a key too, but with a message that shows it.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError('apiKey must be the bare key: no "Bearer", no spaces, no line breaks')
  }
  return apiKey
}

function checkInteger(name: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new TypeError(`${name} must be a whole number from ${min} to ${max}`)
  }
  return value
}
