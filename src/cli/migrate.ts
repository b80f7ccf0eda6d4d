import { type Command, printResult } from './command.ts'

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Migrate the databases to the current schema',
  args: [],
  options: {},
  help: 'Every command does this automatically. Run it separately before you roll out a new version. Safe while servers run.',
  async run(context, input) {
    await context.store() // migrates
    printResult(context, input, { status: 'current' }, 'All databases are at the current schema.')
  },
}
