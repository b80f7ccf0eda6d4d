import { Agent, type IncomingHttpHeaders, request } from 'node:http'

/** The paths are requested in turn, again and again. */
export interface Requests {
  paths: readonly string[]
  headers: Record<string, string>
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  /** As received, possibly compressed. */
  body: Buffer
  ms: number
}

export interface Question {
  path: string
  headers?: Record<string, string>
  /** Makes it a POST of JSON, unless another method is given. */
  content?: unknown
  method?: 'PATCH'
}

/** A client with keep-alive connections. */
export interface Client extends Disposable {
  ask(origin: string, question: Question): Promise<Answer>
}

/** Longer than the time limit of any of the servers. */
const answerTimeoutMs = 60_000

export function createClient(connections = 1): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return {
    ask: (origin, { path, headers = {}, content, method = content === undefined ? 'GET' : 'POST' }) =>
      new Promise((resolve, reject) => {
        const body = content === undefined ? undefined : JSON.stringify(content)
        const type = body === undefined ? {} : { 'content-type': 'application/json' }
        const startMs = performance.now()
        const sent = request(origin + path, { agent, method, headers: { ...headers, ...type } }, (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks),
              ms: performance.now() - startMs,
            }),
          )
        })
        sent.setTimeout(answerTimeoutMs, () => sent.destroy(new Error(`${origin}${path} was not answered.`)))
        sent.on('error', reject)
        sent.end(body)
      }),
    [Symbol.dispose]: () => agent.destroy(),
  }
}
