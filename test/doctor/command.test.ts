import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { createDoctorCommand } from '../../src/cli/doctor.ts'
import { runCommand } from '../../src/cli/index.ts'
import { watcherOf } from '../../src/cli/progress.ts'
import { AppError } from '../../src/core/errors.ts'
import { seedDemo, writeDemoFile } from '../../src/demo/seed.ts'
import { NotChecked } from '../../src/doctor/check.ts'
import { createDoctorContext } from '../../src/doctor/context.ts'
import { examine } from '../../src/doctor/examine.ts'
import { checks } from '../../src/doctor/index.ts'
import { plainLook, showResult } from '../../src/doctor/report.ts'
import type { Store } from '../../src/store/store.ts'
import { dumpTables } from '../helpers/dump.ts'
import { assertLinear } from '../helpers/growth.ts'
import { createEmptyDatabase, onBothEngines, onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { runCli } from '../helpers/process.ts'
import { assertSound, createPatient, type Patient, patient, roomyMachine } from './patient.ts'

/** Runs the command on a separate service: its output, its progress, and its failure. */
async function runDoctor(on: Patient, options: Record<string, string | boolean> = {}, isRich = false) {
  const printed: string[] = []
  const progress: string[] = []
  const command = createDoctorCommand({ isRich, showProgress: (text) => void progress.push(text) })
  const context = {
    config: on.config,
    clock: Date.now,
    logger: on.service.logger,
    store: () => Promise.reject(new Error('The doctor opens the databases itself.')),
    print: (text: string) => void printed.push(text),
  }
  const failure = await command.run(context, { args: [], options }).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { output: printed.join('\n'), progress, failure }
}

/** Until the end of the test. */
async function damage(t: TestContext, on: Patient): Promise<void> {
  t.after(() => runDoctor(on, { repair: true }))
  const { write } = await on.service.store.content('main')
  await write((db) => db.deleteFrom('object_fields').where('field', '=', 'title').execute())
}

async function seeded(engine: TestEngine) {
  const created = await createPatient(engine)
  const demo = await seedDemo({ ...created.service, clock: () => created.clock.now })
  await writeDemoFile(created.config.dataDir, { baseUrl: 'http://127.0.0.1', ...demo })
  return { ...created, demo }
}

async function withPost(): Promise<Patient> {
  const on = await patient('sqlite')
  const group = await on.newGroup()
  await group.add(await group.collection('Posts', { title: { type: 'text' } }), { value: { title: 'Rye' } })
  return on
}

/** All rows, and all files except databases. */
async function dump(store: Store, dataDir: string): Promise<string> {
  const lines = await dumpTables(store)
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const isPlain = entry.isFile() && !/\.sqlite/.test(path)
    lines.push(isPlain ? `${path} ${(await readFile(path)).toString('base64')}` : path)
  }
  return lines.sort().join('\n')
}

onBothEngines('sluice doctor', (engine) => {
  let on: Awaited<ReturnType<typeof seeded>>
  before(async () => {
    on = await seeded(engine)
  })
  after(() => on.close())

  it('finds nothing in a healthy demo, changes nothing and exits with 0', async () => {
    const before = await dump(on.service.store, on.config.dataDir)
    const { output, failure, progress } = await runDoctor(on)
    assert.equal(failure, undefined)
    assert.match(output, /^ok Node version\nok Settings\n/)
    assert.ok(output.endsWith(`\n\n${checks.length} checks are fine.`), output)
    assert.match(progress.join('\n'), /Index of objects: Demo Bakery, Blog, \d+ read/)
    assert.equal(progress.at(-1), '')
    assert.equal(await dump(on.service.store, on.config.dataDir), before)
    const tomorrow = await on.examine({ clock: () => Date.now() + 86_400_000 }) // when all files are old
    assert.deepEqual(tomorrow.find(({ name }) => name === 'Media files')?.findings, [])
  })

  it('fails on a problem with advice, changes nothing, and repairs it with --repair', async (t) => {
    await damage(t, on)
    const before = await dump(on.service.store, on.config.dataDir)
    const { output, failure } = await runDoctor(on)
    assert.ok(failure instanceof AppError)
    assert.match(failure.message, /Something is wrong/)
    assert.match(
      output,
      /\nX {2}Index of objects\n {3}X {2}\d+ objects are filtered.*\n {8}Demo Bakery, \w+: [0-9a-f]{24}\n/,
    )
    assert.match(output, /\n {6}-> .*\n {10}npx sluice doctor --repair\n/)
    assert.equal(await dump(on.service.store, on.config.dataDir), before)
    const repair = await runDoctor(on, { repair: true })
    assert.equal(repair.failure, undefined)
    assert.match(repair.output, /\n! {2}Index of objects\n {3}! {2}The index of \d+ objects did not match .* rebuilt/)
    const after = await runDoctor(on)
    assert.equal(after.failure, undefined)
    assert.ok(after.output.endsWith(`${checks.length} checks are fine.`), after.output)
  })

  it('prints everything as JSON', async (t) => {
    await damage(t, on)
    const { output, failure } = await runDoctor(on, { json: true, group: on.demo.groupId })
    assert.ok(failure instanceof AppError)
    const { summary, checks: results } = JSON.parse(output)
    assert.deepEqual(summary, { fine: checks.length - 1, attention: 0, wrong: 1, notChecked: 0 })
    const { status, findings } = results.find(({ name }: { name: string }) => name === 'Index of objects')
    assert.equal(status, 'wrong')
    assert.deepEqual(Object.keys(findings[0]), ['level', 'what', 'examples', 'advice', 'commands'])
  })

  it('checks only the given group, by id or name, and refuses an unknown one', async (t) => {
    const { group } = await on.newGroup({ name: 'Quiet' })
    await damage(t, on)
    for (const named of ['Quiet', group.id]) assert.equal((await runDoctor(on, { group: named })).failure, undefined)
    assert.ok((await runDoctor(on, { group: 'Demo Bakery' })).failure)
    const { failure, output } = await runDoctor(on, { group: 'unknown' })
    assert.match((failure as Error).message, /There is no group "unknown"/)
    assert.equal(output, '')
  })
})

onBothEnginesInProve('sluice doctor', (engine) => {
  async function patientWith(objectCount: number) {
    const on = await patient(engine)
    const group = await on.newGroup()
    const posts = await group.collection('Posts', {
      title: { type: 'text' },
      body: { type: 'longText' },
      tags: { type: 'list', of: { type: 'text' } },
      rank: { type: 'integer' },
      day: { type: 'date' },
    })
    for (let start = 0; start < objectCount; start += 500) {
      const values = Array.from({ length: 500 }, (_, n) => ({
        value: { title: `Post ${start + n}`, body: `<p>${'word '.repeat(50)}</p>`, tags: ['a', 'b'], rank: n, day: '2026-03-01' },
      })) // biome-ignore format: short
      await group.add(posts, ...values)
    }
    return on
  }

  it('takes time linear in the objects that it checks', async () => {
    const size = Number(process.env.DOCTOR_OBJECTS ?? 2000) / 4
    await assertLinear(patientWith, async (on) => assertSound(await on.examine()), { size })
  })
})

describe('the output of sluice doctor', () => {
  it('has symbols and colours in a terminal, and plain ASCII elsewhere', async (t) => {
    const on = await withPost()
    await damage(t, on)
    const rich = (await runDoctor(on, {}, true)).output
    assert.ok(rich.includes('\u001b[32m✓\u001b[39m Node version\n'))
    assert.ok(rich.includes('\u001b[31m✗\u001b[39m Index of objects\n'))
    assert.match(rich, /→ /)
    const plain = (await runDoctor(on)).output
    assert.match(plain, /^[\n -~]*$/)
  })

  it('has colours and progress only in a terminal, and no colours with NO_COLOR', () => {
    const written: string[] = []
    const stream = (isTTY: boolean) =>
      ({ isTTY, columns: 10, write: (text: string) => written.push(text) }) as unknown as NodeJS.WriteStream & { fd: 1 }
    const watch = (isTTY: boolean, env = {}) =>
      watcherOf({ stdout: stream(isTTY), stderr: stream(isTTY) as never, env })
    assert.deepEqual(
      [watch(true).isRich, watch(true, { NO_COLOR: '1' }).isRich, watch(false).isRich],
      [true, false, false],
    )
    watch(false).showProgress('unseen')
    watch(true).showProgress('a very long line')
    assert.deepEqual(written, ['\r\u001b[2Ka very lo'])
  })

  it('escapes control characters in names', () => {
    const finding = { level: 'wrong', what: 'a\u001b[2Jb', examples: ['c\nd'], advice: 'e' } as const
    const shown = showResult({ name: 'x', status: 'wrong', findings: [{ ...finding, examples: ['c\nd'] }] }, plainLook)
    assert.match(shown, /^[\n -~]*$/)
    assert.match(shown, /\n {8}c d\n/)
  })

  it('recommends only commands that exist', async () => {
    const { config, service } = await patient('sqlite')
    const folder = join(import.meta.dirname, '../../src/doctor')
    const sources = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
    const recommended = new Set(
      [...sources.join('\n').matchAll(/npx sluice ([a-z][a-z-]*(?: [a-z][a-z-]*)?)/g)].map(([, words = '']) => words),
    )
    assert.ok(recommended.size >= 8)
    for (const words of recommended) {
      const printed: string[] = []
      const store = async () => service.store
      const context = {
        config,
        clock: Date.now,
        logger: service.logger,
        store,
        print: (text: string) => void printed.push(text),
      }
      await runCommand([...words.split(' '), '--help'], context)
      assert.match(printed.join(), new RegExp(`^sluice ${words}`))
    }
  })

  it('shows a check that crashes as a finding, and continues', async () => {
    const { config } = await patient('sqlite')
    const ctx = createDoctorContext({
      config,
      clock: Date.now,
      machine: roomyMachine,
      groupNamed: undefined,
      repairAs: undefined,
      progress: () => {},
    })
    const broken = { name: 'breaks', run: () => Promise.reject(new Error('ouch')) }
    const blind = { name: 'cannot look', run: () => Promise.reject(new NotChecked('it is dark')) }
    const fine = { name: 'is fine', run: async () => [] }
    const faults: unknown[] = []
    const results = await Array.fromAsync(examine([broken, blind, fine], ctx, (error) => faults.push(error)))
    await ctx.close()
    assert.deepEqual(
      results.map(({ name, status, reason }) => [name, status, reason]),
      [
        ['breaks', 'wrong', undefined],
        ['cannot look', 'not checked', 'it is dark'],
        ['is fine', 'fine', undefined],
      ],
    )
    assert.match(results[0]?.findings[0]?.what ?? '', /This check failed: ouch\./)
    assert.equal(faults.length, 1)
  })

  it('reports an unreachable database in a sentence without a stack trace, in the real process', async () => {
    const testDatabase = await createEmptyDatabase('sqlite')
    after(() => testDatabase.remove())
    const env = { ...testDatabase.env, DATABASE_URL: 'postgres://sluice:secret@127.0.0.1:1/sluice' }
    const { code, output } = await runCli(['doctor'], env)
    assert.equal(code, 1)
    assert.match(output, /X {2}Databases\n {3}X {2}The databases cannot be reached: connect ECONNREFUSED/)
    assert.match(output, /Something is wrong; each finding says what to do\.\n$/)
    assert.doesNotMatch(output, /\n {4}at |secret/)
  })

  it('reports invalid settings before anything else, in the real process', async () => {
    const { code, output } = await runCli(['doctor'], { PORT: 'x' })
    assert.equal(code, 1)
    assert.match(output, /PORT must be a whole number/)
  })

  it('exits with 0 when nothing is wrong, in the real process', async () => {
    const { config } = await withPost()
    const { code, output } = await runCli(['doctor', '--json'], { DATA_DIR: config.dataDir })
    assert.equal(code, 0, output)
    assert.equal(JSON.parse(output).summary.wrong, 0)
  })
})
