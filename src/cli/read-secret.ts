import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { invalid } from '../core/errors.ts'

/** Prompts without echo. */
async function ask(question: string): Promise<string> {
  process.stderr.write(`${question}: `)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    lines.once('SIGINT', () => reject(invalid('Cancelled.')))
    lines.once('close', () => resolve(''))
    lines.question('', resolve)
    return await promise
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

/** From an environment variable, standard input or a prompt; never from the arguments, which other users can see. */
export async function readSecret(variable: string): Promise<string> {
  const given = process.env[variable] ?? (process.stdin.isTTY ? await ask(variable) : await text(process.stdin))
  const secret = given.trim()
  if (secret === '') throw invalid(`Set ${variable}, or send the secret to standard input.`)
  return secret
}
