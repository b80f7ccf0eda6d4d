import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { families } from '../../src/metrics/families.ts'
import { createRequestCounts } from '../../src/metrics/request-counts.ts'
import { renderText } from '../../src/metrics/text-format.ts'
import { parseMetrics, readValue } from '../helpers/prometheus.ts'

const renderCounts = (counts: ReturnType<typeof createRequestCounts>) => parseMetrics(renderText(counts.read()))

describe('The text format', () => {
  it('has HELP and TYPE once for each family, then its values', () => {
    const text = renderText([
      { family: families.buildInfo, samples: [{ labels: ['1.2.3', 'sqlite', 'v26'], value: 1 }] },
      { family: families.cacheBytes, samples: [{ value: 0.5 }] },
    ])
    assert.equal(
      text,
      `# HELP sluice_build_info Always 1; version, engine and Node in its labels.
# TYPE sluice_build_info gauge
sluice_build_info{version="1.2.3",engine="sqlite",node="v26"} 1
# HELP sluice_answer_cache_bytes Memory used by cached answers.
# TYPE sluice_answer_cache_bytes gauge
sluice_answer_cache_bytes 0.5
`,
    )
  })

  it('omits a family without values', () => {
    assert.equal(renderText([{ family: families.databaseConnections, samples: [] }]), '')
  })

  it('round-trips every label', () => {
    const unit = fc.constantFrom('\\', '"', '\n', 'n', '{', '}', ',', '=', ' ', '\r', 'é', '😀', '#')
    fc.assert(
      fc.property(fc.string({ unit }), (label) => {
        const rendered = renderText([{ family: families.requestsByTier, samples: [{ labels: [label], value: 1 }] }])
        assert.equal(readValue(parseMetrics(rendered), 'sluice_requests_by_tier_total', { tier: label }), 1)
      }),
    )
  })

  it('round-trips every number, including infinity', () => {
    const numbers = fc.double({ noNaN: true, min: 0 })
    fc.assert(
      fc.property(numbers, (value) => {
        const rendered = renderText([{ family: families.cacheBytes, samples: [{ value }] }])
        assert.equal(readValue(parseMetrics(rendered), 'sluice_answer_cache_bytes'), value)
      }),
    )
  })
})

describe('the counts of requests', () => {
  it('increase by one with each request: by route and status, by route and duration, and by tier', () => {
    const counts = createRequestCounts()
    counts.addRoute('/a')
    counts.request('/a', 200, 0.4, 'free')
    counts.request('/a', 200, 0.5, 'free')
    counts.request('/a', 404, 3, 'pro')
    counts.request('/a', 200, 60_000, undefined)
    const found = renderCounts(counts)
    assert.equal(readValue(found, 'sluice_http_requests_total', { route: '/a', status: '200' }), 3)
    assert.equal(readValue(found, 'sluice_http_requests_total', { route: '/a', status: '404' }), 1)
    const buckets = ['0.0005', '0.0025', '0.005', '10', '+Inf'].map((le) =>
      readValue(found, 'sluice_http_request_duration_seconds_bucket', { route: '/a', le }),
    )
    assert.deepEqual(buckets, [2, 2, 3, 3, 4])
    assert.equal(readValue(found, 'sluice_http_request_duration_seconds_sum', { route: '/a' }), 60.0039)
    const byTier = ['free', 'basic', 'pro', 'proplus', 'none'].map((tier) =>
      readValue(found, 'sluice_requests_by_tier_total', { tier }),
    )
    assert.deepEqual(byTier, [2, 0, 1, 0, 1])
  })

  it('use "none" for an unknown route, tier or status', () => {
    const counts = createRequestCounts()
    counts.addRoute('/a')
    for (const status of [0, -1, 99, 600, 1e9, 1.5]) counts.request(`/b/${status}`, status, 1, `tier ${status}`)
    const found = renderCounts(counts)
    const statuses = found.get('sluice_http_requests_total')?.samples ?? []
    assert.ok(statuses.every(({ labels }) => labels.route === 'none' && /^\d{3}$/.test(labels.status ?? '')))
    assert.equal(readValue(found, 'sluice_http_request_duration_seconds_count', { route: 'none' }), 6)
    assert.equal(readValue(found, 'sluice_requests_by_tier_total', { tier: 'none' }), 6)
  })

  it('add up for any sequence of requests', () => {
    const request = fc.record({
      route: fc.constantFrom('/a', '/b', '/unknown'),
      status: fc.integer({ min: 100, max: 599 }),
      ms: fc.double({ min: 0, max: 20_000, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(request), (requests) => {
        const counts = createRequestCounts()
        for (const route of ['/a', '/b']) counts.addRoute(route)
        for (const { route, status, ms } of requests) counts.request(route, status, ms, 'free')
        const found = renderCounts(counts)
        for (const [route, known] of [
          ['/a', '/a'],
          ['/b', '/b'],
          ['none', '/unknown'],
        ] as const) {
          // biome-ignore format: short
          const own = requests.filter((one) => one.route === known)
          const within = (seconds: number): number => own.filter(({ ms }) => ms <= seconds * 1000).length
          for (const { labels, value } of found.get('sluice_http_request_duration_seconds')?.samples ?? [])
            if (labels.route === route && labels.le)
              assert.equal(value, within(Number(labels.le.replace('+Inf', 'Infinity'))))
          for (const { labels, value } of found.get('sluice_http_requests_total')?.samples ?? [])
            if (labels.route === route)
              assert.equal(value, own.filter(({ status }) => String(status) === labels.status).length)
        }
      }),
    )
  })
})
