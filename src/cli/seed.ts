import type { Demo } from '../demo/seed.ts'
import type { ServiceUrls } from '../service.ts'
import { type Command, printResult } from './command.ts'
import { withManaging } from './verb-command.ts'

function describeManaging({ adminToken, groupId, collections }: Demo, manageUrl: string): string {
  return `
  The same collection as an editor sees it:

  curl -H 'Authorization: Bearer ${adminToken}' \\
    '${manageUrl}/manage/groups/${groupId}/collections/${collections.Blog}/objects?status=scheduled'
`
}

export function describeDemo(
  demo: Demo,
  { manageUrl, mailboxUrl }: Pick<ServiceUrls, 'manageUrl' | 'mailboxUrl'>,
): string {
  const { baseUrl, apiKey, adminToken, siteId, collections, previewToken } = demo
  const references = [`${baseUrl}/docs`, ...(manageUrl === undefined ? [] : [`${manageUrl}/manage/docs`])]
  return `
  A demo bakery to explore.

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

export const seedCommand: Command = {
  name: 'seed',
  summary: 'Create the demo bakery',
  args: [],
  options: {},
  help: `Creates another group, "Demo Bakery", with a key, and an administrator with a token, who may do everything in every
group. Writes all credentials to DATA_DIR/demo.json.`,
  async run(context, input) {
    const { findPageUrl } = await import('../mail/mailbox-page.ts')
    const { seedDemo, writeDemoFile } = await import('../demo/seed.ts')
    const { dataDir, publicUrl, host, port, managePort } = context.config
    const seeded = await withManaging(context, (deps) => seedDemo({ ...deps, logger: context.logger }))
    const demo = await writeDemoFile(dataDir, { baseUrl: publicUrl ?? `http://${host}:${port}`, ...seeded })
    const manageUrl = managePort === undefined ? demo.baseUrl : undefined
    const mailboxUrl = findPageUrl(context.config, port)
    printResult(context, input, demo, describeDemo(demo, { manageUrl, mailboxUrl }))
  },
}
