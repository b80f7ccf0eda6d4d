import { type Command, printResult } from './command.ts'

export const mailPageCommand: Command = {
  name: 'mail page',
  summary: 'Show the URL of the local mailbox',
  args: [],
  options: {},
  help: `Without a mail server (SMTP_URL), e-mails are stored in DATA_DIR/mailbox instead of being sent. The server shows them on a
page that opens only on its own machine, and only at this secret URL.`,
  async run(context, input) {
    const { findPageUrl } = await import('../mail/mailbox-page.ts')
    const url = findPageUrl(context.config, context.config.port)
    const text = url ?? 'There is no local mailbox: SMTP_URL is set, so e-mails go to that mail server.'
    printResult(context, input, { url: url ?? null }, text)
  },
}
