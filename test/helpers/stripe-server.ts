import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** As much of Stripe as it takes to connect accounts: keys are `sk_test_<account>_<anything>`, catalogues are empty. */
export interface StripeServer {
  url: string
  /** What was asked, such as `GET /v1/account`. */
  asked: string[]
  /** What it says to who registers a webhook; undefined where it takes it. */
  webhookRefusal: string | undefined
  close(): Promise<void>
}

export async function startStripeServer(): Promise<StripeServer> {
  const asked: string[] = []
  let webhooks = 0
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    asked.push(`${request.method} ${path}`)
    const account = /^Bearer sk_test_([a-z0-9-]+)_/i.exec(request.headers.authorization ?? '')?.[1]
    const answer = (status: number, body: object): void => {
      response
        .writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1' })
        .end(JSON.stringify(body))
    }
    request.resume().on('end', () => {
      if (!account)
        return answer(401, { error: { type: 'invalid_request_error', message: 'Invalid API Key provided.' } })
      if (path === '/v1/account')
        return answer(200, { id: `acct_${account}`, object: 'account', business_profile: { name: `Shop ${account}` } })
      if (path === '/v1/webhook_endpoints' && started.webhookRefusal !== undefined)
        return answer(400, { error: { type: 'invalid_request_error', message: started.webhookRefusal, param: 'url' } })
      if (path === '/v1/webhook_endpoints')
        return answer(200, { id: `we_${++webhooks}`, object: 'webhook_endpoint', secret: `whsec_${webhooks}_canary` })
      if (path.startsWith('/v1/webhook_endpoints/'))
        return answer(200, { id: path.split('/').at(-1), object: 'webhook_endpoint', deleted: true })
      return answer(200, { object: 'list', url: path, has_more: false, data: [] })
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const started: StripeServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    webhookRefusal: undefined,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return started
}
