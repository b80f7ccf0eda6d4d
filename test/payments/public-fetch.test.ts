import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, it, type TestContext } from 'node:test'
import { openPublic, PublicFetchFailure, type PublicFetchOptions } from '../../src/payments/public-fetch.ts'
import { isPublicAddress } from '../../src/security/public-address.ts'

const host = 'pictures.example'
let certificate: { key: string; cert: string }

before(() => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...names], { stdio: 'ignore' })
  certificate = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(folder, { recursive: true })
})

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** A server under a host name, like one on the Internet. */
async function serve(t: TestContext, answer: Answer) {
  const seen: IncomingMessage[] = []
  const server = createServer(certificate, (request, response) => {
    seen.push(request)
    answer(response, request)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const open = async (path = '/a.png', options: Partial<PublicFetchOptions> = {}, name = host) => {
    const stream = await openPublic(`https://${name}:${port}${path}`, {
      signal: t.signal,
      resolve: async () => ['127.0.0.1'],
      isAllowed: () => true,
      ports: [String(port)],
      ca: certificate.cert,
      ...options,
    })
    return Buffer.concat(await stream.toArray())
  }
  return { seen, port, open }
}

/** So long that only the timeout under test ends a request, however slow the machine is. */
const patient = { headersMs: 60_000, silenceMs: 60_000, bodyMs: 60_000 }
const refusal = (message: RegExp) => ({ name: 'PublicFetchFailure', isTransient: false, message })
const trouble = (message: RegExp) => ({ name: 'PublicFetchFailure', isTransient: true, message })

describe('openPublic', () => {
  it('returns the bytes', async (t) => {
    const bytes = Buffer.alloc(300_000, 'picture')
    const { open } = await serve(t, (response) => response.end(bytes))
    assert.deepEqual(await open(), bytes)
  })

  it('sends the host name, and nothing about the service', async (t) => {
    const { open, seen, port } = await serve(t, (response) => response.end('x'))
    await open('/a.png?size=1#part')
    assert.equal(seen[0]?.url, '/a.png?size=1')
    assert.equal(seen[0]?.method, 'GET')
    assert.deepEqual(seen[0]?.headers, {
      host: `${host}:${port}`,
      'user-agent': 'Sluice',
      accept: 'image/*',
      connection: 'close',
    })
  })

  it('resolves the name once, and connects to the address that was checked', async (t) => {
    const { open, seen } = await serve(t, (response) => response.end('x'))
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const checked: string[] = []
    await open('/', {
      resolve: async () => answers.shift() ?? [],
      isAllowed: (address) => checked.push(address) > 0,
    })
    assert.deepEqual(checked, ['127.0.0.1'])
    assert.equal(answers.length, 1)
    assert.equal(seen.length, 1)
  })

  it('refuses a name as soon as one of its addresses is not public', async (t) => {
    const { open, seen } = await serve(t, (response) => response.end('x'))
    const resolve = async () => ['93.184.215.14', '127.0.0.1']
    await assert.rejects(open('/', { resolve, isAllowed: isPublicAddress }), refusal(/not on the public Internet/))
    assert.equal(seen.length, 0)
  })

  it('refuses a name without an address', async (t) => {
    const { open } = await serve(t, (response) => response.end('x'))
    await assert.rejects(open('/', { resolve: async () => [] }), refusal(/not on the public Internet/))
  })

  for (const url of [
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://0/',
    'https://10.0.0.1:8443/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a00:1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/',
    'https://１２７.0.0.1/',
  ]) {
    it(`does not connect to ${url}`, async (t) => {
      const resolve = () => assert.fail('asked for a name')
      await assert.rejects(openPublic(url, { signal: t.signal, resolve }), refusal(/not on the public Internet/))
    })
  }

  for (const [url, message] of [
    ['http://pictures.example/a.png', /https/],
    ['ftp://pictures.example/a.png', /https/],
    ['file:///etc/passwd', /https/],
    ['data:image/png;base64,AAAA', /https/],
    ['//pictures.example/a.png', /https/],
    ['nonsense', /https/],
    ['https://user@pictures.example/', /user name/],
    ['https://:pw@pictures.example/', /password/],
    ['https://pictures.example:22/', /port/],
    ['https://pictures.example:6379/', /port/],
  ] as const) {
    it(`refuses ${url} before resolving a name`, async (t) => {
      const resolve = () => assert.fail('asked for a name')
      await assert.rejects(openPublic(url, { signal: t.signal, resolve }), refusal(message))
    })
  }

  it('resolves localhost, and refuses the result', async (t) => {
    await assert.rejects(openPublic('https://localhost/', { signal: t.signal }), { name: 'PublicFetchFailure' })
  })

  it('does not follow a redirect', async (t) => {
    const { open, seen, port } = await serve(t, (response, { url }) =>
      url === '/' ? response.writeHead(302, { location: `https://127.0.0.1:${port}/secret` }).end() : response.end('x'),
    )
    await assert.rejects(open('/'), refusal(/redirects, which is not followed/))
    assert.equal(seen.length, 1)
  })

  it('does not trust a certificate for another name, or an untrusted one', async (t) => {
    const { open, seen } = await serve(t, (response) => response.end('x'))
    await assert.rejects(open('/', {}, 'other.example'), trouble(/other\.example:\d+ could not be reached \(ERR_TLS/))
    await assert.rejects(open('/', { ca: undefined }), trouble(/could not be reached \(DEPTH_ZERO_SELF_SIGNED_CERT\)/))
    assert.equal(seen.length, 0)
  })

  for (const [status, isTransient] of [
    [204, false],
    [206, false],
    [403, false],
    [404, false],
    [429, true],
    [500, true],
    [503, true],
  ] as const) {
    it(`refuses status ${status} ${isTransient ? 'temporarily' : 'permanently'}`, async (t) => {
      const { open } = await serve(t, (response) => response.writeHead(status).end())
      await assert.rejects(open(), {
        name: 'PublicFetchFailure',
        isTransient,
        message: new RegExp(`answers ${status}`),
      })
    })
  }

  it('refuses an answer that declares a size over the limit, or exceeds it', async (t) => {
    const { open } = await serve(t, (response, { url }) => {
      if (url === '/declared') response.setHeader('content-length', 1001)
      response.write(Buffer.alloc(900))
      response.end(Buffer.alloc(101))
    })
    await assert.rejects(open('/declared', { maxBytes: 1000 }), refusal(/more than 1000 bytes/))
    await assert.rejects(open('/', { maxBytes: 1000 }), refusal(/more than 1000 bytes/))
    assert.equal((await open('/', { maxBytes: 1001 })).length, 1001)
  })

  it('stops reading an endless answer', async (t) => {
    let closed: Promise<unknown> | undefined
    const { open } = await serve(t, (response) => {
      closed = once(response, 'close')
      const fill = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', fill)
      fill()
    })
    await assert.rejects(open('/', { maxBytes: 1_000_000 }), refusal(/more than 1000000 bytes/))
    await closed
  })

  it('does not wait for headers that trickle in', async (t) => {
    const { open } = await serve(t, (response) => {
      const timer = setInterval(() => response.socket?.write('x'), 20)
      response.socket?.write('HTTP/1.1 200 OK\r\nX-Slow: ')
      response.on('close', () => clearInterval(timer))
    })
    await assert.rejects(
      open('/', { timeouts: { ...patient, headersMs: 150 } }),
      trouble(/took more than 0\.15 seconds/),
    )
  })

  it('does not wait for a body that stalls or trickles in', async (t) => {
    const { open } = await serve(t, (response, { url }) => {
      response.write('x')
      if (url === '/silent') return
      const timer = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(timer))
    })
    await assert.rejects(open('/silent', { timeouts: { ...patient, silenceMs: 100 } }), trouble(/could not be reached/))
    await assert.rejects(
      open('/drip', { timeouts: { ...patient, bodyMs: 300 } }),
      trouble(/took more than 0\.3 seconds/),
    )
  })

  it('does not wait for a name that does not resolve in time', async (t) => {
    const { open } = await serve(t, (response) => response.end('x'))
    const resolve = () => new Promise<string[]>(() => {})
    await assert.rejects(
      open('/', { resolve, timeouts: { ...patient, headersMs: 150 } }),
      trouble(/took more than 0\.15 seconds/),
    )
  })

  it('may be retried if a name is not found', async (t) => {
    const { open } = await serve(t, (response) => response.end('x'))
    const missing = Object.assign(new Error('getaddrinfo'), { code: 'EAI_AGAIN' })
    await assert.rejects(open('/', { resolve: () => Promise.reject(missing) }), trouble(/\(EAI_AGAIN\)/))
  })

  it('ends when its signal aborts, before and during the answer', async (t) => {
    const reason = new Error('the job is over')
    const { open } = await serve(t, (response) => response.write('x'))
    await assert.rejects(open('/', { signal: AbortSignal.abort(reason) }), reason)
    const aborter = new AbortController()
    const opened = open('/', { signal: aborter.signal })
    aborter.abort(reason)
    await assert.rejects(opened, reason)
  })

  it('names only the host in an error', async (t) => {
    const { open } = await serve(t, (response) => response.writeHead(404).end())
    await assert.rejects(open('/path?token=hidden'), (error: unknown) => {
      assert.ok(error instanceof PublicFetchFailure)
      assert.doesNotMatch(error.message, /path|token|hidden/)
      return true
    })
  })
})

describe('isPublicAddress', () => {
  const publicOnes = ['1.1.1.1', '8.8.8.8', '93.184.215.14', '172.15.255.255', '172.32.0.0', '100.63.255.255']
  for (const address of [...publicOnes, '100.128.0.0', '223.255.255.255', '2606:4700::1111', '2a00:1450::1']) {
    it(`accepts ${address}`, () => assert.equal(isPublicAddress(address), true))
  }
  const private4 = '0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.255'
  const more4 = '169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.1.1'
  const last4 = '198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255'
  const private6 = ':: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1'
  const more6 = '100::1 2001::1 2001:0:7f00:1:: 2001:db8::1 2002:7f00:1:: 2002:a00:1:: 3fff::1 5f00::1 fc00::1 fd12::1'
  const last6 = 'fe80::1 fe80::1%lo fec0::1 ff02::1 2606:4700::1111%eth0'
  const none = ['', 'localhost', '1.2.3', '1.2.3.4.5', '0x7f.0.0.1', '2606:4700::1111 ']
  const cloud = '168.63.129.16'
  const all = [private4, more4, last4, private6, more6, last6, cloud].flatMap((list) => list.split(' '))
  for (const address of [...all, ...none]) {
    it(`refuses ${JSON.stringify(address)}`, () => assert.equal(isPublicAddress(address), false))
  }
})
