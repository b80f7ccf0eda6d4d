import assert from 'node:assert/strict'
import type { Finding, Machine } from '../../src/doctor/check.ts'
import { createDoctorContext, type DoctorOptions, thisMachine } from '../../src/doctor/context.ts'
import { type CheckResult, examine } from '../../src/doctor/examine.ts'
import { checks } from '../../src/doctor/index.ts'
import { createUser } from '../../src/store/control/users.ts'
import { authoring } from '../helpers/authoring.ts'
import { closeAfter, createHarness, type Harness, type TestEngine } from '../helpers/harness.ts'

/** Independent of the machine. */
export const roomyMachine: Machine = {
  ...thisMachine,
  diskSpace: async () => ({ freeBytes: 500e9, totalBytes: 1000e9 }),
  canDerive: async () => true,
}

export type Examination = Partial<Omit<DoctorOptions, 'progress'>>

/** Runs all checks with these settings. */
export async function examineAll(config: DoctorOptions['config'], options: Examination = {}): Promise<CheckResult[]> {
  const ctx = createDoctorContext({
    config,
    clock: Date.now,
    machine: roomyMachine,
    groupNamed: undefined,
    repairAs: undefined,
    progress: () => {},
    ...options,
  })
  try {
    return await Array.fromAsync(examine(checks, ctx, () => {}))
  } finally {
    await ctx.close()
  }
}

export interface Patient extends Harness {
  examine(options?: Examination): Promise<CheckResult[]>
}

/** A healthy service with an administrator, at the real time. */
export async function createPatient(engine: TestEngine, env: Record<string, string> = {}): Promise<Patient> {
  const created = await createHarness(engine, { env })
  created.clock.now = Date.now()
  await createUser(created.service.store, { name: 'Ada', administrator: true }, authoring(created.clock.now))
  return { ...created, examine: (options) => examineAll(created.config, options) }
}

/** The same, closed when the test or suite ends. */
export async function patient(...asked: Parameters<typeof createPatient>): Promise<Patient> {
  const created = await createPatient(...asked)
  closeAfter(created)
  return created
}

export function findingsOf(results: readonly CheckResult[]): (Finding & { check: string })[] {
  return results.flatMap(({ name, findings }) => findings.map((finding) => ({ check: name, ...finding })))
}

/** Returns the only finding, and fails on others. */
export function assertOnly(
  results: readonly CheckResult[],
  expected: { check: string; level: Finding['level']; what: RegExp; advice?: RegExp; commands?: (string | RegExp)[] },
): Finding {
  const findings = findingsOf(results)
  assert.deepEqual(
    findings.map(({ check, level }) => [check, level]),
    [[expected.check, expected.level]],
    JSON.stringify(findings, null, 2),
  )
  const [finding] = findings
  assert.ok(finding)
  assert.match(finding.what, expected.what)
  if (expected.advice) assert.match(finding.advice, expected.advice)
  for (const [position, command] of (expected.commands ?? []).entries()) {
    const given: string = finding.commands?.[position] ?? ''
    if (typeof command === 'string') assert.equal(given, command)
    else assert.match(given, command)
  }
  assert.ok(finding.advice.length > 10)
  return finding
}

export function assertSound(results: readonly CheckResult[]): void {
  assert.deepEqual(findingsOf(results), [])
  assert.deepEqual([...new Set(results.map(({ status }) => status))], ['fine'])
}
