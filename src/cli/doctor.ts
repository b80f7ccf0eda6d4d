import type { Command } from './command.ts'

/** Where a person may be watching. */
export interface Watcher {
  /** Whether what is printed may have colours and signs. */
  isRich: boolean
  /** Shows one line that the next one replaces; the empty one takes it away. */
  showProgress(text: string): void
}

const takeLineAway = '\r\u001b[2K'

export function watcherOf({ stdout, stderr, env }: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'env'>): Watcher {
  return {
    isRich: stdout.isTTY === true && !env.NO_COLOR,
    showProgress(text) {
      if (stderr.isTTY) stderr.write(`${takeLineAway}${text.slice(0, (stderr.columns || 80) - 1)}`)
    },
  }
}

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
