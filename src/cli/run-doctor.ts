import { AppError } from '../core/errors.ts'
import { createDoctorContext, thisMachine } from '../doctor/context.ts'
import { type CheckResult, examine } from '../doctor/examine.ts'
import { checks } from '../doctor/index.ts'
import { plainLook, richLook, showResult, showSummary, summarise } from '../doctor/report.ts'
import { type CommandContext, type CommandInput, textOption } from './command.ts'
import type { Watcher } from './progress.ts'
import { terminalActor } from './verb-command.ts'

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

export async function runDoctor(context: CommandContext, input: CommandInput, watcher: Watcher): Promise<void> {
  const { print, logger } = context
  const look = watcher.isRich ? richLook : plainLook
  const ctx = openContext(context, input, watcher)
  const results: CheckResult[] = []
  try {
    await ctx.refuseUnknownGroup()
    for await (const result of examine(checks, ctx, (error) => logger.debug({ err: error }, 'a check failed'))) {
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
