import type { Demo } from '../demo/seed.ts'

/** What a newcomer needs to send the first request. */
export function describeDemo({ baseUrl, apiKey, siteId, collections, previewToken }: Demo): string {
  return `
  A demo bakery to look around in.

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
