import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestEngine } from './harness.ts'
import { type Librarian, librarian, noTraces } from './media.ts'

/** The beginning and the end of a multipart form with a file. */
export const formHead = '--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
export const formEnd = '\r\n--edge--\r\n'

/** A librarian of a service that listens on a port. */
export interface Listening extends Librarian {
  baseUrl: string
  /** The URL of the group's uploads. */
  path: string
}

export async function listening(engine: TestEngine, env: Record<string, string> = {}): Promise<Listening> {
  const created = await librarian(engine, env)
  const { baseUrl } = await created.service.listen()
  return { ...created, baseUrl, path: `/manage/groups/${created.group.groupId}/media` }
}

interface Beginning {
  method?: string
  path?: string
  token?: string
  /** The declared length of the body; by default more than is ever sent. */
  bytes?: number
  connection?: 'close' | 'keep-alive'
}

/** A connection with an upload in progress, which the test continues. */
export function beginUpload({ baseUrl, path, admin }: Listening, sent: string, beginning: Beginning = {}): Socket {
  const { method = 'POST', token = admin, bytes = 500_000_000, connection = 'close' } = beginning
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1').setEncoding('utf8')
  socket.on('error', () => {})
  socket.write(
    `${method} ${beginning.path ?? path} HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer ${token}\r\n` +
      `Connection: ${connection}\r\nContent-Type: multipart/form-data; boundary=edge\r\n` +
      `Content-Length: ${bytes}\r\n\r\n${sent}`,
  )
  return socket
}

/** Everything received on a connection until it is closed, also by a reset. */
export async function readUntilClosed(socket: Socket): Promise<string> {
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => (received += text))
  // Not `once` of node:events, which rejects on an error: a cut connection is reset.
  await new Promise((resolve) =>
    socket
      .on('error', () => {})
      .once('close', resolve)
      .resume(),
  )
  return received
}

/** Polls, because events on a connection are noticed with a delay. */
export async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, `timed out waiting for: ${what}`)
    await sleep(10)
  }
}

export const untilInInbox = ({ traces }: Librarian, files: number): Promise<void> =>
  until(async () => (await traces()).inbox.length === files, `${files} files in the inbox`)

/** Cleaning up after a broken connection takes a moment. */
export async function assertNothingLeft({ traces }: Librarian): Promise<void> {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline && JSON.stringify(await traces()) !== JSON.stringify(noTraces)) await sleep(10)
  assert.deepEqual(await traces(), noTraces)
}
