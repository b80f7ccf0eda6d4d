import type { Config } from '../config.ts'
import type { Demo } from '../demo/seed.ts'

export function baseUrlOf({ publicUrl, host, port }: Config): string {
  return publicUrl ?? `http://${host}:${port}`
}

/** What a newcomer needs to send the first request. */
export function describeDemo({ baseUrl, apiKey, siteId, collections, previewToken }: Demo): string {
  return `
  Sluice serves the demo bakery.

  Base URL     ${baseUrl}
  API key      ${apiKey}
  Site id      ${siteId}
  Reference    ${baseUrl}/docs

  Try it:

  curl -H 'Authorization: ${apiKey}' \\
    '${baseUrl}/tenant/collectionObjects?collectionId=${collections.Blog}&sort=publishDate:desc&limit=2'

  A draft, by its preview token:

  curl -H 'Authorization: ${apiKey}' \\
    '${baseUrl}/tenant/preview?token=${previewToken}'
`
}
