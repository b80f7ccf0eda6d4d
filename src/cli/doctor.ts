import { createDoctorContext, thisMachine } from '../doctor/context.ts'
import { type CheckResult, examine } from '../doctor/examine.ts'
import { checks } from '../doctor/index.ts'
import { plainLook, richLook, showResult, showSummary, summarise } from '../doctor/report.ts'
import { AppError } from '../errors.ts'
import { type Command, type CommandContext, type CommandInput, textOption } from './command.ts'
import { terminalActor } from './verb-command.ts'

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

function openContext({ config, clock }: CommandContext, input: CommandInput, { showProgress }: Watcher) {
  return createDoctorContext({
    config,
    clock,
    machine: thisMachine,
    groupNamed: textOption(input, 'group'),
    repairAs: input.options.repair ? terminalActor() : undefined,
    progress: showProgress,
  })
}

async function runDoctor(context: CommandContext, input: CommandInput, watcher: Watcher): Promise<void> {
  const { print, logger } = context
  const look = watcher.isRich ? richLook : plainLook
  const ctx = openContext(context, input, watcher)
  const results: CheckResult[] = []
  try {
    await ctx.refuseUnknownGroup()
    for await (const result of examine(checks, ctx, (error) => logger.debug({ err: error }, 'a check broke'))) {
      watcher.showProgress('')
      results.push(result)
      if (!input.options.json) print(showResult(result, look))
    }
  } finally {
    watcher.showProgress('')
    await ctx.close()
  }
  const summary = summarise(results)
  print(input.options.json ? JSON.stringify({ summary, checks: results }, null, 2) : `\n${showSummary(summary)}`)
  if (summary.wrong > 0) throw new AppError('Unavailable', 'Something is wrong; each finding says what to do.')
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
    run: (context, input) => runDoctor(context, input, watcher),
  }
}

export const doctorCommand = createDoctorCommand(watcherOf(process))
