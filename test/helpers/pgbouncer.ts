import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ensureInstalled, whyNotInstalled } from './debian-package.ts'
import { freePort } from './free-port.ts'

const program = '/usr/sbin/pgbouncer'
/** It refuses to run as root; 65534 is "nobody". */
const unprivileged = { uid: 65534, gid: 65534 }
const timeoutMs = 30_000

export const whyNoPgBouncer = (): string | undefined => whyNotInstalled(program)

/** PgBouncer supports prepared statements from 1.21 on; before, the setting is unknown. */
function supportsPreparedStatements(): boolean {
  const [, minor = '0'] =
    /PgBouncer 1\.(\d+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout) ?? []
  return Number(minor) >= 21
}

type PoolMode = 'session' | 'transaction'

export interface PgBouncer {
  /** A database URL through it. */
  url: string
  /** Applies to later transactions. */
  setMode(mode: PoolMode): Promise<void>
}

/** A pooler without prepared statements in front of a database, stopped when the test or suite ends. */
export async function startPgBouncer(databaseUrl: string, startMode: PoolMode): Promise<PgBouncer> {
  ensureInstalled(program, 'pgbouncer')
  const { hostname, port: serverPort, username, pathname } = new URL(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pgbouncer-'))
  const port = await freePort()
  const settings = (mode: PoolMode) => `[databases]
* = host=${hostname} port=${serverPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 20
${supportsPreparedStatements() ? 'max_prepared_statements = 0' : ''}
`
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(file, settings(startMode))
  await chmod(folder, 0o755)
  const identity = process.getuid?.() === 0 ? unprivileged : {}
  const child = spawn(program, [file], { ...identity, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (chunk) => (log += chunk))
  after(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
    await rm(folder, { recursive: true, force: true })
  })
  const logged = async (text: string): Promise<void> => {
    const deadline = Date.now() + timeoutMs
    while (!log.includes(text)) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`PgBouncer does not log "${text}":\n${log.slice(-2000)}`)
      await wait(20)
    }
  }
  await logged('process up')
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}`,
    async setMode(mode) {
      await writeFile(file, settings(mode))
      child.kill('SIGHUP')
      await logged('re-reading config')
    },
  }
}
