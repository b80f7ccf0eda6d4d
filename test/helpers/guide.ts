import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeResidentNpx } from './command-here.ts'
import { createDemoDatabase } from './demo.ts'
import type { TestEngine } from './harness.ts'
import { programEnv, type ServerProcess, startServer } from './process.ts'

export const root = join(import.meta.dirname, '../..')

export const readDocument = (file: string): string => readFileSync(join(root, file), 'utf8')

/** A code block of a page, and its heading. */
export interface Block {
  heading: string
  language: string
  code: string
}

export function blocksIn(page: string): Block[] {
  const blocks: Block[] = []
  let heading = ''
  for (const [, title, language = '', code = ''] of page.matchAll(/^#+ (.+)$|^```(\w*)\n([\s\S]*?)^```/gm)) {
    if (title === undefined) blocks.push({ heading, language, code })
    else heading = title
  }
  return blocks
}

/** The text between a heading and the next one. */
export function sectionOf(page: string, heading: string): string {
  const [, section = ''] = new RegExp(`^##+ ${heading}\\n([\\s\\S]*?)(?=^##+ |$(?![\\s\\S]))`, 'm').exec(page) ?? []
  assert.ok(section, heading)
  return section
}

/** The code blocks below a heading, verbatim. */
export function blocksOf(page: string, heading: string, language = 'sh'): string[] {
  assert.ok(page.includes(`# ${heading}\n`), heading)
  return blocksIn(page)
    .filter((block) => block.heading === heading && block.language === language)
    .map(({ code }) => code)
}

/** The demo, and a working folder in which `npx sluice` uses it. `npm run prove` starts the program for each command. */
export interface Guide {
  server: ServerProcess
  facts: {
    apiKey: string
    adminToken: string
    groupId: string
    siteId: string
    collections: Record<string, string>
    priceIds: string[]
  }
  folder: string
  env: Record<string, string>
  /** Runs commands like a reader of the guide, and returns their output. */
  run(commands: string): Promise<string>
  post(endpoint: string, body: object): Promise<Response>
  close(): Promise<void>
}

export async function startGuide(engine: TestEngine): Promise<Guide> {
  const testDatabase = await createDemoDatabase(engine)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-guide-'))
  const server = await startServer(testDatabase.env, ['--demo'])
  await symlink(testDatabase.env.DATA_DIR, join(folder, 'data'))
  const npx = join(folder, 'bin/npx')
  await mkdir(join(folder, 'bin'))
  // npx would search the working folder for the program.
  const program = `"${process.execPath}" "${root}/src/main.ts"`
  const commands =
    process.env.PROVE === '1'
      ? await writeFile(npx, `#!/bin/sh\nshift\nexec ${program} "$@"\n`, { mode: 0o755 })
      : await writeResidentNpx(npx, program)
  const facts = JSON.parse(await readFile(join(testDatabase.env.DATA_DIR, 'demo.json'), 'utf8'))
  const env = {
    ...testDatabase.env,
    PORT: new URL(server.baseUrl).port,
    LOG_LEVEL: 'silent',
    ...programEnv,
    PATH: `${join(folder, 'bin')}:${programEnv.PATH}`,
  }
  return {
    server,
    facts,
    folder,
    env,
    async run(commands) {
      const child = spawn('sh', ['-eu', '-c', commands], { cwd: folder, env })
      let printed = ''
      let errors = ''
      child.stdout.setEncoding('utf8').on('data', (text) => (printed += text))
      child.stderr.setEncoding('utf8').on('data', (text) => (errors += text))
      const [code] = await once(child, 'close')
      assert.equal(code, 0, `${commands}\n${printed}${errors}`)
      return printed
    },
    post: (endpoint, body) =>
      fetch(`${server.baseUrl}/tenant/${endpoint}`, {
        method: 'POST',
        headers: { authorization: facts.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    async close() {
      commands?.close()
      await server.stop()
      await testDatabase.remove()
      await rm(folder, { recursive: true })
    },
  }
}
