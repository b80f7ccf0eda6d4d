import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const main = join(import.meta.dirname, '../../src/main.ts')
/** Generous, for a busy machine. */
const startTimeoutMs = 120_000

/** The variables of our environment that the program needs. */
const { PATH = '', NODE_COMPILE_CACHE } = process.env
export const programEnv = { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) }

const children = new Set<ChildProcess>()
/** Child processes never outlive the test process. */
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

function startMain(args: string[], env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...programEnv, LOG_LEVEL: 'info', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  return child.once('exit', () => children.delete(child))
}

/** The real server, without waiting until it listens. */
export function startWithoutWaiting(env: Record<string, string>): ChildProcess {
  const child = startMain(['serve'], env)
  for (const stream of [child.stdout, child.stderr]) stream?.resume()
  return child
}

/** Runs a command of the real program to completion. */
export async function runCli(args: string[], env: Record<string, string>): Promise<{ code: number; output: string }> {
  const child = startMain(args, { LOG_LEVEL: 'silent', ...env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

/** The real server in a separate process. */
export interface ServerProcess {
  baseUrl: string
  child: ChildProcess
  /** Its whole output. */
  output(): string
  /** Stops it gracefully and returns its exit code. */
  stop(): Promise<number | null>
}

export async function startServer(env: Record<string, string>, args: string[] = []): Promise<ServerProcess> {
  const child = startMain(['serve', ...args], env)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk) => (output += chunk))
  const deadline = Date.now() + startTimeoutMs
  const listening = args.includes('--demo') ? /Base URL +(http\S+)/ : /Server listening at (http[^"]+)/
  while (!listening.test(output)) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL') // otherwise the test file would wait for it forever
      throw new Error(`The server did not start:\n${output}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const [, baseUrl = ''] = listening.exec(output) ?? []
  return {
    baseUrl,
    child,
    output: () => output,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await once(child, 'close')
      }
      return child.exitCode
    },
  }
}
