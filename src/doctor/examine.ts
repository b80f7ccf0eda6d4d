import { type Check, type DoctorContext, type Finding, NotChecked, wrong } from './check.ts'
import { messageOf } from './format.ts'

export type Status = 'fine' | 'attention' | 'wrong' | 'not checked'

export interface CheckResult {
  name: string
  status: Status
  /** Why it was not checked. */
  reason?: string
  findings: Finding[]
}

function statusOf(findings: readonly Finding[]): Status {
  if (findings.some(({ level }) => level === 'wrong')) return 'wrong'
  return findings.length > 0 ? 'attention' : 'fine'
}

async function runCheck(check: Check, ctx: DoctorContext, onFault: (error: unknown) => void): Promise<CheckResult> {
  const { name } = check
  ctx.progress(name)
  try {
    const findings = await check.run(ctx)
    return { name, status: statusOf(findings), findings }
  } catch (error) {
    if (error instanceof NotChecked) return { name, status: 'not checked', reason: error.message, findings: [] }
    onFault(error)
    const findings = wrong({
      what: `This check failed: ${messageOf(error)}.`,
      advice: 'Follow the other findings and run it again. For the details:',
      commands: ['LOG_LEVEL=debug npx sluice doctor'],
    })
    return { name, status: 'wrong', findings }
  }
}

/** Runs one check after the other; a failing one does not stop the rest. */
export async function* examine(
  checks: readonly Check[],
  ctx: DoctorContext,
  onFault: (error: unknown) => void,
): AsyncGenerator<CheckResult> {
  for (const check of checks) yield await runCheck(check, ctx, onFault)
}
