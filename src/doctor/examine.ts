import { type Check, type DoctorContext, type Finding, NotChecked } from './check.ts'
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

/** A check that fails is a finding of its own. */
function brokenCheck(error: unknown): Finding {
  return {
    level: 'wrong',
    what: `This could not be checked to its end: ${messageOf(error)}.`,
    advice: 'Do what the other findings say and run it again. For the details:',
    commands: ['LOG_LEVEL=debug npx sluice doctor'],
  }
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
    return { name, status: 'wrong', findings: [brokenCheck(error)] }
  }
}

/** Runs one check after the other; a failed one does not stop the rest. */
export async function* examine(
  checks: readonly Check[],
  ctx: DoctorContext,
  onFault: (error: unknown) => void,
): AsyncGenerator<CheckResult> {
  for (const check of checks) yield await runCheck(check, ctx, onFault)
}
