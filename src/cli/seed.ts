import { seedDemo } from '../demo/seed.ts'
import { createLocalStorage } from '../media/storage.ts'
import { type Command, printResult } from './command.ts'
import { baseUrlOf, describeDemo } from './demo-banner.ts'

export const seedCommand: Command = {
  name: 'seed',
  summary: 'Fill in the demo bakery',
  args: [],
  options: {},
  help: 'Makes one more group, "Demo Bakery", with a key, and writes what is needed to try it to DATA_DIR/demo.json.',
  async run(context, input) {
    const { config, clock } = context
    const storage = createLocalStorage(config.dataDir)
    const demo = await seedDemo({
      store: await context.store(),
      storage,
      dataDir: config.dataDir,
      clock,
      baseUrl: baseUrlOf(config),
    })
    printResult(context, input, demo, describeDemo(demo))
  },
}
