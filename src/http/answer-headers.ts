/** They describe how to handle content, so an answer without content needs none (RFC 9110 §15.4.5). */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** On every answer, also on those sent before any hook runs; content and pages override some of them. */
export const answerHeaders = { ...securityHeaders, 'cache-control': 'no-store' }

/** Private, because it depends on the key; no-cache, because time alone can change it. */
export const contentHeaders = { 'cache-control': 'private, no-cache', vary: 'Authorization, Accept-Encoding' }
