import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { type ClientOptions, createClient } from '../../client/src/index.ts'

export const apiKey = 'slc_live_key-that-must-stay-secret'

export interface Seen {
  method: string
  url: URL
  body: string
  headers: IncomingMessage['headers']
  atMs: number
}

/** Answers the nth request (from 1). */
export type Answer = (response: ServerResponse, url: URL, nth: number) => void

/** A real HTTP server for one test, its requests, and a client for it. */
export async function serve(t: TestContext, answer: Answer, options: Partial<ClientOptions> = {}) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://service')
    const asked = { method: request.method ?? '', url, body: '', headers: request.headers, atMs: performance.now() }
    const nth = seen.push(asked)
    request.setEncoding('utf8')
    request.on('data', (text: string) => {
      asked.body += text
    })
    request.on('end', () => answer(response, url, nth))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { baseUrl, seen, client: createClient({ baseUrl, apiKey, ...options }) }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function succeed(response: ServerResponse, data: unknown) {
  sendJson(response, 200, { success: true, data, error: null })
}

export function fail(response: ServerResponse, status: number, code: string, headers: Record<string, string> = {}) {
  sendJson(
    response,
    status,
    { success: false, data: null, error: `Because of ${code}.`, code },
    { 'x-request-id': 'request-1', ...headers },
  )
}
