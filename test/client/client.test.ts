import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import {
  type Block,
  type CollectionObject,
  createClient,
  type Filters,
  type MediaValue,
  SluiceError,
} from '../../client/src/index.ts'
import { readRetryAfterSeconds, retryDelayMs } from '../../client/src/retry.ts'
import { apiKey, fail, sendJson, serve, succeed } from './serve.ts'

async function errorOf(call: Promise<unknown>): Promise<SluiceError> {
  try {
    await call
  } catch (error) {
    assert.ok(error instanceof SluiceError, inspect(error))
    return error
  }
  return assert.fail('the call was expected to reject')
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = []
  for await (const item of items) collected.push(item)
  return collected
}

const noItems = { items: [], totalCount: 0 }

describe('requests', () => {
  it('unwraps the envelope and returns its data', async (t) => {
    const { client } = await serve(t, (response) => succeed(response, { _id: 'site-1', name: 'Demo Bakery' }))
    assert.deepEqual(await client.site.details('site-1'), { _id: 'site-1', name: 'Demo Bakery' })
  })

  it('sends a GET with the bare key to the path of each endpoint', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, noItems))
    await client.site.details('s1')
    await client.collections.list('c1')
    await client.products.list({ type: 'stripe' })
    await client.preview('t1')
    assert.deepEqual(
      seen.map(({ url }) => url.pathname + url.search),
      [
        '/tenant/siteDetails?siteId=s1',
        '/tenant/collectionObjects?collectionId=c1',
        '/tenant/integrationObjects?type=stripe',
        '/tenant/preview?token=t1',
      ],
    )
    for (const { headers } of seen) assert.equal(headers.authorization, apiKey)
  })

  for (const suffix of ['/', '/content', '/content/']) {
    it(`accepts a baseUrl that ends in ${suffix}`, async (t) => {
      const { baseUrl, seen } = await serve(t, (response) => succeed(response, noItems))
      await createClient({ baseUrl: baseUrl + suffix, apiKey }).preview('t1')
      assert.equal(seen[0]?.url.pathname, `${suffix.replace(/\/$/, '')}/tenant/preview`)
    })
  }

  it('sends every option of a collection listing', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, noItems))
    await client.collections.list('c1', {
      limit: 10,
      skip: 0,
      search: 'crème & brûlée',
      sort: ['publishDate:desc', 'objectValue.name:asc'],
      filters: { rating: 5, featured: false, tag: ['a&b=c', 'ünï'], empty: '' },
    })
    assert.deepEqual(
      [...(seen[0]?.url.searchParams ?? [])],
      [
        ['collectionId', 'c1'],
        ['search', 'crème & brûlée'],
        ['limit', '10'],
        ['skip', '0'],
        ['sort', 'publishDate:desc,objectValue.name:asc'],
        ['filters[rating]', '5'],
        ['filters[featured]', 'false'],
        ['filters[tag]', 'a&b=c'],
        ['filters[tag]', 'ünï'],
        ['filters[empty]', ''],
      ],
    )
    assert.match(seen[0]?.url.search ?? '', /&filters%5Btag%5D=a%26b%3Dc&filters%5Btag%5D=%C3%BCn%C3%AF&/)
  })

  it('sends every option of a product listing', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, noItems))
    await client.products.list({
      type: 'stripe',
      accountHandle: 'shop+eu',
      filters: { productType: 'bread' },
      search: 'rye',
      groupBy: { key: 'productType', value: '50% off' },
      limit: 100,
      skip: 200,
      sort: 'objectValue.name:asc',
    })
    assert.deepEqual(
      [...(seen[0]?.url.searchParams ?? [])],
      [
        ['type', 'stripe'],
        ['accountHandle', 'shop+eu'],
        ['search', 'rye'],
        ['limit', '100'],
        ['skip', '200'],
        ['sort', 'objectValue.name:asc'],
        ['filters[productType]', 'bread'],
        ['groupBy[key]', 'productType'],
        ['groupBy[value]', '50% off'],
      ],
    )
  })

  it('sends the references to expand, and types what they lead to', async (t) => {
    const item = { objectValue: { title: 'Rye' }, expanded: { author: { objectValue: { name: 'Ada' } } } }
    const { client, seen } = await serve(t, (response) => succeed(response, { items: [item], totalCount: 1 }))
    const { items } = await client.collections.list<
      { title: string },
      { author: CollectionObject<{ name: string }> | null }
    >('c1', { expand: ['author', 'related.author'] })
    assert.equal(items[0]?.expanded?.author?.objectValue.name, 'Ada')
    await client.preview('p1', { expand: ['author'] })
    assert.deepEqual(
      seen.map(({ url }) => url.searchParams.get('expand')),
      ['author,related.author', 'author'],
    )
  })

  it('types blocks, whose fields depend on their type', async (t) => {
    const sections = [{ type: 'prose', body: 'Rye' }]
    const { client } = await serve(t, (response) =>
      succeed(response, { items: [{ objectValue: { sections } }], totalCount: 1 }),
    )
    type Section = Block<{ hero: { image: MediaValue }; prose: { body: string } }>
    const { items } = await client.collections.list<{ sections: Section[] }>('c1')
    const texts = items.flatMap(({ objectValue }) =>
      objectValue.sections.map((section) => (section.type === 'hero' ? section.image.name : section.body)),
    )
    assert.deepEqual(texts, ['Rye'])
  })

  it('sends the operators of filters, and the fields to deliver', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, noItems))
    const filters: Filters = {
      price: { gte: 5, lt: '10' },
      tag: { ne: ['a', 'b'] },
      publishDate: { exists: true, gt: '2026-03-01' },
    }
    await client.collections.list('c1', { filters, fields: ['title', 'slug'] })
    assert.deepEqual(
      [...(seen[0]?.url.searchParams ?? [])],
      [
        ['collectionId', 'c1'],
        ['fields', 'title,slug'],
        ['filters[price][gte]', '5'],
        ['filters[price][lt]', '10'],
        ['filters[tag][ne]', 'a'],
        ['filters[tag][ne]', 'b'],
        ['filters[publishDate][exists]', 'true'],
        ['filters[publishDate][gt]', '2026-03-01'],
      ],
    )
  })

  it('leaves out options that are undefined, and an empty sort', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, noItems))
    await client.collections.list('c1', { limit: undefined, search: undefined, sort: [], filters: {} })
    assert.equal(seen[0]?.url.search, '?collectionId=c1')
  })

  it('refuses a filter without a value instead of listing everything', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, noItems))
    for (const filters of [
      { tag: [] },
      { tag: undefined },
      { tag: [null] },
      { tag: {} },
      { tag: { gte: undefined } },
    ] as unknown[] as Filters[]) {
      const error = await errorOf(client.collections.list('c1', { filters }))
      assert.equal(error.code, 'InvalidArgument')
      assert.match(error.message, /filters\.tag/)
    }
    assert.equal(seen.length, 0)
  })

  it('sends requests through the given fetch', async (t) => {
    const urls: string[] = []
    const { client } = await serve(t, (response) => succeed(response, noItems), {
      fetch: (url, init) => {
        urls.push(url)
        return fetch(url, init)
      },
    })
    assert.deepEqual(await client.site.details('t1'), noItems)
    assert.equal(urls.length, 1)
  })
})

describe('all', () => {
  const items = Array.from({ length: 250 }, (_, index) => ({ _id: `item-${index}` }))

  it('pages by cursor until there is none', async (t) => {
    const { client, seen } = await serve(t, (response, { searchParams }) => {
      const from = Number(searchParams.get('after')?.slice(1))
      const to = from + Number(searchParams.get('limit'))
      const nextCursor = to < items.length ? `c${to}` : null
      succeed(response, { items: items.slice(from, to), totalCount: items.length, nextCursor })
    })
    assert.deepEqual(await collect(client.collections.all('c1', { sort: 'name:asc' })), items)
    assert.deepEqual(
      seen.map(({ url }) => [url.searchParams.get('after'), url.searchParams.get('skip')]),
      [
        ['', null],
        ['c100', null],
        ['c200', null],
      ],
    )
    seen.length = 0
    const page = await client.products.list({ type: 'stripe', after: 'c240', limit: 10 })
    assert.equal(page.nextCursor, null)
    assert.equal(seen[0]?.url.search, '?type=stripe&limit=10&after=c240')
  })

  it('pages through everything exactly once and stops, also with a service without cursors', async (t) => {
    const { client, seen } = await serve(t, (response, { searchParams }) => {
      const skip = Number(searchParams.get('skip'))
      succeed(response, {
        items: items.slice(skip, skip + Number(searchParams.get('limit'))),
        totalCount: items.length,
      })
    })
    assert.deepEqual(await collect(client.collections.all('c1', { sort: 'name:asc', filters: { tag: 'x' } })), items)
    assert.deepEqual(
      seen.map(({ url }) => url.searchParams.get('skip')),
      [null, '100', '200'],
    )
    for (const { url } of seen) assert.match(url.search, /collectionId=c1.*sort=name%3Aasc&filters%5Btag%5D=x$/)

    seen.length = 0
    assert.deepEqual(await collect(client.products.all({ type: 'stripe', pageSize: 50 })), items)
    assert.equal(seen.length, 5)
  })

  it('pages by skip through a search by relevance, which has no cursors', async (t) => {
    const { client, seen } = await serve(t, (response, { searchParams }) => {
      const skip = Number(searchParams.get('skip'))
      succeed(response, { items: items.slice(skip, skip + 100), totalCount: items.length })
    })
    assert.deepEqual(await collect(client.collections.all('c1', { search: 'rye', sort: 'relevance' })), items)
    assert.deepEqual(
      seen.map(({ url }) => [url.searchParams.get('after'), url.searchParams.get('skip')]),
      [
        [null, '0'],
        [null, '100'],
        [null, '200'],
      ],
    )
  })

  it('requests no page that is not needed', async (t) => {
    const { client, seen } = await serve(t, (response) =>
      succeed(response, { items: items.slice(0, 100), totalCount: 250 }),
    )
    for await (const item of client.collections.all('c1')) if (item._id === 'item-99') break
    assert.equal(seen.length, 1)
  })

  it('yields an item once when new content moves it to the next page', async (t) => {
    const { client } = await serve(t, (response, _, nth) =>
      succeed(response, {
        items: nth === 1 ? [{ _id: 'a' }, { _id: 'b' }] : [{ _id: 'b' }, { _id: 'c' }],
        totalCount: 4,
      }),
    )
    assert.deepEqual(await collect(client.collections.all('c1')), [{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }])
  })

  it('stops at an empty page when content disappeared in between', async (t) => {
    const { client, seen } = await serve(t, (response, _, nth) =>
      succeed(response, { items: nth === 1 ? [{ _id: 'a' }] : [], totalCount: 2 }),
    )
    assert.deepEqual(await collect(client.products.all({ type: 'stripe' })), [{ _id: 'a' }])
    assert.equal(seen.length, 2)
  })

  it('rejects when a page fails', async (t) => {
    const { client } = await serve(t, (response) => fail(response, 404, 'NotFound'))
    assert.equal((await errorOf(collect(client.collections.all('c1')))).code, 'NotFound')
  })
})

describe('errors', () => {
  it('have the code, status, message and request id of a failure', async (t) => {
    const { client } = await serve(t, (response) => fail(response, 410, 'PreviewExpired'))
    const { name, message, code, status, requestId, retryAfterSeconds } = await errorOf(client.site.details('t1'))
    assert.deepEqual(
      { name, message, code, status, requestId, retryAfterSeconds },
      {
        name: 'SluiceError',
        message: 'Because of PreviewExpired.',
        code: 'PreviewExpired',
        status: 410,
        requestId: 'request-1',
        retryAfterSeconds: undefined,
      },
    )
  })

  it('have the code Unknown for a failure without one', async (t) => {
    const { client } = await serve(t, (response) => sendJson(response, 200, { success: false, error: 'No.' }))
    const { message, code, status, requestId } = await errorOf(client.site.details('t1'))
    assert.deepEqual([message, code, status, requestId], ['No.', 'Unknown', 200, undefined])
  })

  for (const [name, status, body] of [
    ['a page of HTML', 200, '<html>Welcome</html>'],
    ['an empty answer', 200, ''],
    ['JSON without an envelope', 403, '{"message":"Forbidden"}'],
    ['JSON that is no object', 200, 'true'],
    ['success with a failure status', 500, '{"success":true,"data":{},"error":null}'],
  ] as const) {
    it(`have the code InvalidResponse for ${name}, with the status`, async (t) => {
      const { client, seen } = await serve(t, (response) => response.writeHead(status).end(body))
      const error = await errorOf(client.site.details('t1'))
      assert.deepEqual([error.code, error.status, seen.length], ['InvalidResponse', status, 1])
    })
  }

  it('refuse redirects, so the key reaches no other host', async (t) => {
    const other = await serve(t, (response) => succeed(response, {}))
    const { client } = await serve(t, (response) => response.writeHead(302, { location: other.baseUrl }).end())
    const error = await errorOf(client.site.details('s1'))
    assert.deepEqual([error.code, error.status, other.seen.length], ['InvalidResponse', 302, 0])
    assert.match(error.message, /redirect/)
  })

  it('have the code NetworkError for an unreachable service, with the reason and without the query', async () => {
    const gone = createServer().listen(0, '127.0.0.1')
    await once(gone, 'listening')
    const baseUrl = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`
    await new Promise((closed) => gone.close(closed))
    const error = await errorOf(createClient({ baseUrl, apiKey, retries: 0 }).preview('preview-token'))
    assert.deepEqual([error.code, error.status], ['NetworkError', 0])
    assert.equal(error.message, `No answer from ${baseUrl}/tenant/preview (ECONNREFUSED)`)
    assert.ok(error.cause instanceof Error)
  })
})

describe('retries', () => {
  for (const status of [429, 502, 503, 504]) {
    it(`retry after ${status}, then succeed`, async (t) => {
      const { client, seen } = await serve(t, (response, _, nth) =>
        nth < 3 ? fail(response, status, 'Passing', { 'retry-after': '0' }) : succeed(response, 'here'),
      )
      assert.equal(await client.site.details('t1'), 'here')
      assert.equal(seen.length, 3)
    })
  }

  for (const status of [400, 401, 403, 404, 500]) {
    it(`do not retry after ${status}`, async (t) => {
      const { client, seen } = await serve(t, (response) => fail(response, status, 'Lasting'))
      assert.equal((await errorOf(client.site.details('t1'))).status, status)
      assert.equal(seen.length, 1)
    })
  }

  it('retry after a broken connection, before the answer or in the middle of it', async (t) => {
    const { client, seen } = await serve(t, (response, _, nth) => {
      if (nth === 1) response.destroy()
      else if (nth === 2) response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy())
      else succeed(response, 'here')
    })
    assert.equal(await client.site.details('t1'), 'here')
    assert.equal(seen.length, 3)
  })

  it('return the last failure after the configured number of retries', async (t) => {
    const { client, seen } = await serve(t, (response) => fail(response, 503, 'Unavailable', { 'retry-after': '0' }), {
      retries: 1,
    })
    const error = await errorOf(client.site.details('t1'))
    assert.deepEqual([error.code, error.retryAfterSeconds, seen.length], ['Unavailable', 0, 2])
  })

  it('never retry a preview, because a failed attempt may have used up its token', async (t) => {
    const { client, seen } = await serve(t, (response) => fail(response, 503, 'Unavailable', { 'retry-after': '0' }))
    const error = await errorOf(client.preview('t1'))
    assert.deepEqual([error.code, seen.length], ['Unavailable', 1])
  })

  it('retry when an overloaded proxy answers with HTML', async (t) => {
    const { client } = await serve(t, (response, _, nth) =>
      nth === 1 ? response.writeHead(502).end('<html>Bad gateway</html>') : succeed(response, 'here'),
    )
    assert.equal(await client.site.details('t1'), 'here')
  })

  it('wait for the time in Retry-After', async (t) => {
    const { client, seen } = await serve(t, (response, _, nth) =>
      nth === 1 ? fail(response, 429, 'RateLimited', { 'retry-after': '1' }) : succeed(response, 'here'),
    )
    await client.site.details('t1')
    const [first, second] = seen
    assert.ok(first && second && second.atMs - first.atMs > 950)
  })

  it('do not wait when Retry-After is too long, and report the wait', async (t) => {
    const { client, seen } = await serve(t, (response) => fail(response, 503, 'Unavailable', { 'retry-after': '3600' }))
    const error = await errorOf(client.site.details('t1'))
    assert.deepEqual([error.retryAfterSeconds, seen.length], [3600, 1])
  })

  it('accept Retry-After as seconds and as a date', () => {
    assert.equal(readRetryAfterSeconds(null), undefined)
    assert.equal(readRetryAfterSeconds('soon'), undefined)
    assert.equal(readRetryAfterSeconds('7'), 7)
    assert.equal(readRetryAfterSeconds(new Date(0).toUTCString()), 0)
    const seconds = readRetryAfterSeconds(new Date(Date.now() + 60_000).toUTCString())
    assert.ok(seconds !== undefined && seconds >= 58 && seconds <= 60)
  })

  it('back off exponentially, with jitter and a maximum', () => {
    const error = new SluiceError('No answer', { code: 'NetworkError' })
    for (const [attempt, ceiling] of [200, 400, 800, 1600, 3200, 5000, 5000].entries()) {
      const delay = retryDelayMs(error, attempt)
      assert.ok(delay !== undefined && delay >= ceiling / 2 && delay <= ceiling)
    }
  })
})

describe('timeouts and aborts', () => {
  it('fails with Timeout when the service is silent in every attempt', async (t) => {
    let attempts = 0
    const { client } = await serve(t, () => {}, {
      timeoutMs: 50,
      retries: 1,
      fetch: (url, init) => {
        attempts++
        return fetch(url, init)
      },
    })
    const error = await errorOf(client.site.details('t1'))
    assert.deepEqual([error.code, error.status, attempts], ['Timeout', 0, 2])
    assert.match(error.message, /within 50 ms/)
  })

  it('counts an unfinished body as a timeout', async (t) => {
    const { client } = await serve(t, (response) => response.writeHead(200).write('{'), { timeoutMs: 100, retries: 0 })
    assert.equal((await errorOf(client.site.details('t1'))).code, 'Timeout')
  })

  it('sends nothing when the signal is already aborted', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, {}))
    const reason = new Error('The visitor left')
    const error = await errorOf(client.site.details('s1', { signal: AbortSignal.abort(reason) }))
    assert.deepEqual([error.code, error.status, error.cause, seen.length], ['Aborted', 0, reason, 0])
  })

  it('stops at once when aborted during a request, and does not retry', async (t) => {
    const caller = new AbortController()
    const { client, seen } = await serve(t, () => caller.abort())
    const error = await errorOf(client.collections.list('c1', { signal: caller.signal }))
    assert.deepEqual([error.code, seen.length], ['Aborted', 1])
  })

  it('stops at once when aborted between two attempts', async (t) => {
    const caller = new AbortController()
    const { client, seen } = await serve(t, (response) => {
      fail(response, 503, 'Unavailable', { 'retry-after': '20' })
      once(response, 'close').then(() => setTimeout(() => caller.abort(), 50))
    })
    const error = await errorOf(collect(client.products.all({ type: 'stripe', signal: caller.signal })))
    assert.deepEqual([error.code, seen.length], ['Aborted', 1])
  })
})

describe('createClient', () => {
  const baseUrl = 'https://content.example.com'

  it('refuses a baseUrl that is not an absolute http or https URL', () => {
    for (const wrong of [undefined, '', 'content.example.com', '/api', 'ftp://content.example.com', 42]) {
      assert.throws(() => createClient({ baseUrl: wrong as string, apiKey }), /^TypeError: baseUrl must be an absolute/)
    }
    for (const wrong of ['https://me:secret@content.example.com', `${baseUrl}?a=1`, `${baseUrl}#a`]) {
      assert.throws(() => createClient({ baseUrl: wrong, apiKey }), /^TypeError: baseUrl must not carry/)
    }
  })

  it('refuses a key that is missing or not bare', () => {
    for (const wrong of [undefined, null, '', 42]) {
      assert.throws(() => createClient({ baseUrl, apiKey: wrong as string }), /^TypeError: apiKey must be a non-empty/)
    }
    for (const wrong of [`Bearer ${apiKey}`, `${apiKey}\n`, 'schlüssel']) {
      assert.throws(() => createClient({ baseUrl, apiKey: wrong }), /^TypeError: apiKey must be the bare key/)
    }
  })

  it('refuses an invalid timeout or number of retries', () => {
    for (const timeoutMs of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => createClient({ baseUrl, apiKey, timeoutMs }), /timeoutMs must be a whole number/)
    }
    for (const retries of [-1, 0.5, 11]) {
      assert.throws(() => createClient({ baseUrl, apiKey, retries }), /retries must be a whole number/)
    }
  })

  it('refuses to run in a browser, but not where only one of its globals exists', (t) => {
    t.after(() => {
      Reflect.deleteProperty(globalThis, 'window')
      Reflect.deleteProperty(globalThis, 'document')
    })
    Object.assign(globalThis, { window: {} })
    createClient({ baseUrl, apiKey })
    Object.assign(globalThis, { document: {} })
    assert.throws(() => createClient({ baseUrl, apiKey }), /runs on a server only/)
  })
})

it('never shows the key, neither in the client nor in an error', async (t) => {
  const shown: unknown[] = []
  const { client, baseUrl } = await serve(
    t,
    (response, url, nth) => {
      if (nth === 1) fail(response, 401, 'Unauthorized')
      else if (nth === 2) response.writeHead(200).end('<html>')
      else if (nth === 3) response.writeHead(302, { location: url.href }).end()
      else if (nth === 4) response.destroy()
    },
    { timeoutMs: 200, retries: 0 },
  )
  shown.push(client)
  for (let nth = 1; nth <= 5; nth++) shown.push(await errorOf(client.site.details('t1')))
  for (const wrong of [{ baseUrl: apiKey }, { apiKey: `${apiKey} ` }, { retries: -1 }]) {
    assert.throws(
      () => createClient({ baseUrl, apiKey, ...wrong }),
      (error: Error) => shown.push(error) > 0,
    )
  }
  assert.equal(shown.length, 9)
  for (const value of shown) {
    const text = [inspect(value, { depth: null, showHidden: true }), JSON.stringify(value), String(value)].join('\n')
    assert.ok(!text.includes(apiKey), text)
  }
})
