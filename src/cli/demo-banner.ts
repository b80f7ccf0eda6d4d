import type { Demo } from '../demo/seed.ts'
import type { ServicePlaces } from '../service.ts'

function describeManaging({ adminToken, groupId, collections }: Demo, manageUrl: string): string {
  return `
  What an editor sees of the same collection:

  curl -H 'Authorization: Bearer ${adminToken}' \\
    '${manageUrl}/manage/groups/${groupId}/collections/${collections.Blog}/objects?status=scheduled'
`
}

/** What a newcomer needs to send the first request. */
export function describeDemo(
  demo: Demo,
  { manageUrl, mailboxUrl }: Pick<ServicePlaces, 'manageUrl' | 'mailboxUrl'>,
): string {
  const { baseUrl, apiKey, adminToken, siteId, collections, previewToken } = demo
  const references = [`${baseUrl}/docs`, ...(manageUrl === undefined ? [] : [`${manageUrl}/manage/docs`])]
  return `
  A demo bakery to look around in.

  Base URL     ${baseUrl}
  API key      ${apiKey}
  Site id      ${siteId}
  Admin token  ${adminToken}
  Reference    ${references.join(' and ')}${mailboxUrl === undefined ? '' : `\n  Mailbox      ${mailboxUrl}`}

  Try it:

  curl -H 'Authorization: ${apiKey}' \\
    '${baseUrl}/tenant/collectionObjects?collectionId=${collections.Blog}&sort=publishDate:desc&limit=2'

  A draft, by its preview token:

  curl -H 'Authorization: ${apiKey}' \\
    '${baseUrl}/tenant/preview?token=${previewToken}'
${manageUrl === undefined ? '' : describeManaging(demo, manageUrl)}`
}
