import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** The full form of tests that "npm test" runs in a small form. The arguments select parts; without any, all run. */
interface Part {
  about: string
  files: string[]
  env: Record<string, string>
}

const parts: Record<string, Part> = {
  lists: {
    about: '10,000 random list queries on SQLite, PostgreSQL and a plain array',
    files: ['test/tenant/list-equivalence.test.ts'],
    env: { LIST_QUERIES: '10000' },
  },
  expand: {
    about: '2,000 random graphs of references, expanded on SQLite, PostgreSQL and a plain array',
    files: ['test/tenant/expand-graphs.test.ts'],
    env: { EXPAND_GRAPHS: '2000' },
  },
  kills: {
    about: '25 kill -9 during writes, on each engine',
    files: ['test/e2e/crash.test.ts'],
    env: { KILL_ROUNDS: '25' },
  },
  upgrade: {
    about: 'the upgrade of a database of version 0.7 with 100,000 objects, despite 10 kill -9, on each engine',
    files: ['test/e2e/upgrade-kill.test.ts'],
    env: { UPGRADE_OBJECTS: '100000', UPGRADE_KILLS: '10', UPGRADE_QUERIES: '40' },
  },
  schema: {
    about: 'schema changes of 10,000 objects among readers and writers, and 20 interrupted by kill -9, on each engine',
    files: ['test/manage/schema-change.test.ts', 'test/e2e/schema-change-kill.test.ts'],
    env: { SCHEMA_OBJECTS: '10000', SCHEMA_KILLS: '20' },
  },
  verbs: {
    about: '1,000 random sequences of management calls on each engine, with a full check after each call',
    files: ['test/manage/verbs-property.test.ts'],
    env: { VERB_RUNS: '1000' },
  },
  roles: {
    about: 'every verb by every kind of caller, and with invalid input, on each engine',
    files: ['test/manage/roles.test.ts', 'test/manage/input.test.ts', 'test/manage/security.test.ts'],
    env: {},
  },
  transfer: {
    about:
      'export and import of 100,000 objects with little memory, a CSV file of 100,000 rows, and 20 kill -9 during each kind of import',
    files: [
      'test/transfer/memory.test.ts',
      'test/transfer/drafts/csv.test.ts',
      'test/transfer/import-kills.test.ts',
      'test/transfer/library.test.ts',
    ],
    env: { TRANSFER_OBJECTS: '100000', CSV_ROWS: '100000', IMPORT_KILLS: '20', IMPORT_KILLS_OBJECTS: '5000' },
  },
  jobs: {
    about: '25 kill -9 of processes that run jobs, on each engine',
    files: ['test/jobs/processes.test.ts'],
    env: { KILL_ROUNDS: '25' },
  },
  media: {
    about:
      'upload and download of a 1 GB file with a folder and an S3 store, 20 kill -9 during uploads and jobs, hostile files and signed URLs, on each engine',
    files: [
      'test/cli/media.test.ts',
      'test/e2e/media-big-files.test.ts',
      'test/e2e/media-s3.test.ts',
      'test/mail/site-look.test.ts',
      'test/media/hostile.test.ts',
      'test/media/kills.test.ts',
      'test/media/library.test.ts',
      'test/media/signing-everywhere.test.ts',
    ],
    env: { MEDIA_MEGABYTES: '1000', MEDIA_KILLS: '20' },
  },
  checkout: {
    about: '1,000 checkouts at a payment provider that fails 30 % of the calls, on each engine',
    files: ['test/payments/faults.test.ts'],
    env: { CHECKOUT_CALLS: '1000' },
  },
  catalogue: {
    about:
      'import of a catalogue of 2,000 products despite kill -9, and 5,000 changes with unreliable webhooks, on each engine',
    files: [
      'test/payments/import.test.ts',
      'test/payments/shuffle.test.ts',
      'test/payments/mirror/freshness.test.ts',
      'test/payments/secrets.test.ts',
      'test/cli/integrations.test.ts',
    ],
    env: { CATALOGUE_PRODUCTS: '2000', CATALOGUE_CHANGES: '5000', IMPORT_KILLS: '3' },
  },
  submissions: {
    about: '50 kill -9 of a server, each after 2,000 more submissions and e-mails were acknowledged, on each engine',
    files: ['test/e2e/submission-kills.test.ts'],
    env: { SUBMISSION_KILLS: '50', SUBMISSIONS_PER_ROUND: '2000' },
  },
  mail: {
    about:
      '10,000 e-mails to a mail server that refuses, hangs, breaks connections and restarts, hostile addresses, and the mailbox page, on each engine',
    files: ['test/mail/faults.test.ts', 'test/mail/addresses.test.ts', 'test/mail/mailbox-page.test.ts'],
    env: { MAIL_MESSAGES: '10000' },
  },
  connections: {
    about:
      '100,000 resets at any point of a request, 10,000 slow connections at once, 1,000,000 mutated requests, half of each on each engine',
    files: ['test/e2e/connections.test.ts'],
    env: { CONNECTION_RESETS: '100000', SLOW_CONNECTIONS: '20000', SLOW_SECONDS: '60', MUTATED_REQUESTS: '1000000' },
  },
  cache: {
    about: '2,000 random scripts of writes, clock steps and reads at two processes that cache answers, on each engine',
    files: ['test/cache/exactness.test.ts'],
    env: { CACHE_SCRIPTS: '2000' },
  },
  drafts: {
    about:
      '10,000 random scripts of saves, publishes, schedules and clock steps over two processes, against a model, on each engine',
    files: ['test/drafts/scripts.test.ts'],
    env: { DRAFT_SCRIPTS: '10000' },
  },
  workers: {
    about: 'a page of 190 MB, refused by a worker without reading it',
    files: ['test/delivery/worker-pool.test.ts'],
    env: { LARGE_ITEMS: '95' },
  },
  doctor: {
    about: 'all checks on 20,000 and on 5,000 objects, and what they find in a shop, on each engine',
    files: [
      'test/doctor/command.test.ts',
      'test/doctor/library.test.ts',
      'test/doctor/mail.test.ts',
      'test/doctor/payments.test.ts',
    ],
    env: { DOCTOR_OBJECTS: '20000' },
  },
  bench: {
    about: 'every part of the bench in its smallest form, on each engine',
    files: ['test/bench.test.ts'],
    env: { BENCH: 'full' },
  },
  processes: {
    about: 'the program, the demo and the commands of the documents, each command in a process, on each engine',
    files: [
      'test/e2e/service.test.ts',
      'test/e2e/demo.test.ts',
      'test/e2e/docs-commands.test.ts',
      'test/e2e/mail-docs.test.ts',
      'test/e2e/commerce-docs.test.ts',
      'test/e2e/managing.test.ts',
      'test/e2e/checkout-browser.test.ts',
    ],
    env: {},
  },
  fairness: {
    about:
      'every route and verb with its costliest inputs, while another tenant sends a request every 20 ms, on each engine; needs an idle machine',
    files: ['test/fairness/fairness.test.ts'],
    env: { FAIRNESS: 'full' },
  },
}

const hours = (count: number): string => String(count * 3_600_000)

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0) {
  console.error(`There is no part "${unknown.join('", "')}". Parts: ${Object.keys(parts).join(', ')}.`)
  process.exit(1)
}

for (const [name, { about, files, env }] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  console.log(`\n${name}: ${about}`)
  const startedMs = performance.now()
  const runner = spawn(process.execPath, [join(import.meta.dirname, 'test.ts'), ...files], {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...env,
      PROVE: '1',
      TEST_TIMEOUT_MS: hours(2),
      TEST_FILE_TIMEOUT_MS: hours(6),
      TEST_RUN_TIMEOUT_MS: hours(12),
    },
  })
  const [code] = await once(runner, 'close')
  console.log(`${name}: ${code === 0 ? 'holds' : 'FAILS'}, ${Math.round((performance.now() - startedMs) / 1000)} s`)
  if (code !== 0) process.exit(1)
}
