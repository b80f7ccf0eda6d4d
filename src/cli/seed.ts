import { findPageUrl } from '../mail/mailbox-page.ts'
import { type Command, printResult } from './command.ts'
import { describeDemo } from './demo-banner.ts'
import { withManaging } from './verb-command.ts'

export const seedCommand: Command = {
  name: 'seed',
  summary: 'Fill in the demo bakery',
  args: [],
  options: {},
  help: `Makes one more group, "Demo Bakery", with a key, and an administrator with a token, who may do everything in every group.
Writes what is needed to try it to DATA_DIR/demo.json.`,
  async run(context, input) {
    const { seedDemo, writeDemoFile } = await import('../demo/seed.ts')
    const { dataDir, publicUrl, host, port, managePort } = context.config
    const seeded = await withManaging(context, (deps) => seedDemo({ ...deps, logger: context.logger }))
    const demo = await writeDemoFile(dataDir, { baseUrl: publicUrl ?? `http://${host}:${port}`, ...seeded })
    const manageUrl = managePort === undefined ? demo.baseUrl : undefined
    const mailboxUrl = findPageUrl(context.config, port)
    printResult(context, input, demo, describeDemo(demo, { manageUrl, mailboxUrl }))
  },
}
