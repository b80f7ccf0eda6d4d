import { type Command, printResult } from './command.ts'

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Bring the databases to the current schema',
  args: [],
  options: {},
  help: 'Every command does this by itself. Run it alone before you roll out a new version. Safe while servers are running.',
  async run(context, input) {
    await context.store() // opening is migrating
    printResult(context, input, { status: 'current' }, 'All databases are at the current schema.')
  },
}
