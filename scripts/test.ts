import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { startPostgres } from '../test/helpers/postgres-server.ts'

/** Runs the tests with a real PostgreSQL beside them. Arguments are test files; none means all. */
const files = process.argv.slice(2)
const patterns = files.length > 0 ? files : ['test/**/*.test.ts']

const testTimeoutMs = process.env.TEST_TIMEOUT_MS ?? 300_000
/** Much of a test is waiting for disks and databases: one file for each core, and two where there is one. */
const filesAtOnce = Math.max(2, availableParallelism())

const postgres = await startPostgres()
let exitCode = 1
try {
  const runner = spawn(
    process.execPath,
    ['--test', `--test-timeout=${testTimeoutMs}`, `--test-concurrency=${filesAtOnce}`, ...patterns],
    {
      stdio: 'inherit',
      env: { ...process.env, TEST_POSTGRES_URL: postgres.url },
    },
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal))
  const [code] = await once(runner, 'close')
  exitCode = code ?? 1
} finally {
  await postgres.stop()
}
process.exit(exitCode)
