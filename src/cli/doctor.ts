import type { Command } from './command.ts'
import { type Watcher, watcherOf } from './progress.ts'

export function createDoctorCommand(watcher: Watcher): Command {
  return {
    name: 'doctor',
    summary: 'Look for everything that is wrong or needs attention',
    args: [],
    options: { group: { type: 'string' }, repair: { type: 'boolean' } },
    help: `Looks at the machine, the settings, the databases, the content and the files, and says what to do about each
finding. Ends with an error when something is wrong; what only needs attention is none. Changes nothing without
--repair, and works while servers run.

Options:
  --group <id or name>   check the content of this group only
  --repair               make the index of objects anew where it is not that of their values`,
    async run(context, input) {
      const { runDoctor } = await import('./run-doctor.ts') // with much that no server needs
      await runDoctor(context, input, watcher)
    },
  }
}

export const doctorCommand = createDoctorCommand(watcherOf(process))
