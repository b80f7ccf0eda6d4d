import type { Command } from './command.ts'
import { type Watcher, watcherOf } from './progress.ts'

export function createDoctorCommand(watcher: Watcher): Command {
  return {
    name: 'doctor',
    summary: 'Check for problems, with advice on each',
    args: [],
    options: { group: { type: 'string' }, repair: { type: 'boolean' } },
    help: `Checks the machine, the settings, the databases, the content and the files, with advice on each
finding. Exits with an error if something is wrong, but not if it only needs attention. Changes nothing without
--repair, and works while servers run.

Options:
  --group <id or name>   check the content of this group only
  --repair               rebuild the index of objects where it does not match their values`,
    async run(context, input) {
      const { runDoctor } = await import('./run-doctor.ts') // loads much that no server needs
      await runDoctor(context, input, watcher)
    },
  }
}

export const doctorCommand = createDoctorCommand(watcherOf(process))
