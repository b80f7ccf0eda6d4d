/** They say how content is to be handled, so an answer without content has no use for them (RFC 9110 §15.4.5). */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** On every answer, also on those that are made before any hook runs; content and pages override what they must. */
export const answerHeaders = { ...securityHeaders, 'cache-control': 'no-store' }

/** Private, because it depends on the key; no-cache, because time alone can change it. */
export const contentHeaders = { 'cache-control': 'private, no-cache', vary: 'Authorization, Accept-Encoding' }
