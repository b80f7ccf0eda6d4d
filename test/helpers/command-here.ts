import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { runProgram } from '../../src/cli/run-program.ts'

/** Runs a command of the program in this process, on a store of its own, and returns its output. */
export async function runHere(argv: string[], env: Record<string, string>): Promise<string> {
  const printed: string[] = []
  await runProgram(argv, { LOG_LEVEL: 'silent', ...env }, (text) => void printed.push(`${text}\n`))
  return printed.join('')
}

/** The parts of a request of the script below. */
function readRequest(body: Buffer): { folder: string; argv: string[]; env: Record<string, string> } {
  const [folder = '', count, ...rest] = body.toString().split('\0')
  const variables = rest.slice(Number(count)).filter((text) => text.includes('='))
  const env = Object.fromEntries(
    variables.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
  )
  return { folder, argv: rest.slice(0, Number(count)), env }
}

/**
 * Writes an `npx` whose commands run in this process, one after the other: each start of the program would cost half a
 * second of CPU time. Servers are started by `program`.
 */
export async function writeResidentNpx(path: string, program: string): Promise<{ close(): void }> {
  let running: Promise<unknown> = Promise.resolve()
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const { folder, argv, env } = readRequest(await buffer(request))
      const ownFolder = process.cwd()
      try {
        process.chdir(folder)
        response.end(await runHere(argv, env))
      } catch (error) {
        response.writeHead(400).end(`${error instanceof Error ? error.message : error}\n`)
      } finally {
        process.chdir(ownFolder)
      }
    }
    running = running.then(answer)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const script = `#!/bin/sh
shift
if [ "$1" = serve ]; then exec ${program} "$@"; fi
{ printf '%s\\0' "$PWD" $# "$@"; env -0; } |
  curl -sS --noproxy '*' --fail-with-body --data-binary @- http://127.0.0.1:${port}/
`
  await writeFile(path, script, { mode: 0o755 })
  return { close: () => void server.close() }
}
