import { type Command, printResult } from './command.ts'

export const mailPageCommand: Command = {
  name: 'mail page',
  summary: 'Say where the local mailbox can be read in the browser',
  args: [],
  options: {},
  help: `Without a mail server (SMTP_URL) e-mails are put into DATA_DIR/mailbox instead of being sent. The server shows them on a
page that opens on its own machine only, and only under this address: keep it to yourself.`,
  async run(context, input) {
    const { findPageUrl } = await import('../mail/mailbox-page.ts')
    const url = findPageUrl(context.config, context.config.port)
    const text = url ?? 'There is no local mailbox: SMTP_URL is set, so e-mails go to that mail server.'
    printResult(context, input, { url: url ?? null }, text)
  },
}
