import assert from 'node:assert/strict'
import { isAbsolute, join } from 'node:path'
import { describe, it } from 'node:test'
import Fastify from 'fastify'
import { readConfig, settings } from '../../src/config/config.ts'

function messageOf(env: Record<string, string>): string {
  try {
    readConfig(env)
  } catch (error) {
    assert.ok(error instanceof Error)
    return error.message
  }
  return assert.fail(`accepted: ${JSON.stringify(env)}`)
}

const mb = 1024 ** 2
const gb = 1024 * mb

describe('readConfig', () => {
  it('has a default for every setting', () => {
    assert.deepEqual(readConfig({}), {
      port: 4000,
      host: '127.0.0.1',
      publicUrl: undefined,
      dataDir: join(process.cwd(), 'data'),
      databaseUrl: undefined,
      databasePrepare: 'on',
      masterKey: undefined,
      signedUrlTtlSeconds: 86_400,
      mediaLocation: { kind: 'folder', path: undefined },
      mediaAccessKeyId: undefined,
      mediaSecretAccessKey: undefined,
      mediaPublicUrl: undefined,
      mediaSigningKeys: [],
      mediaCdnUrl: undefined,
      mediaCdnKeyId: undefined,
      mediaCdnPrivateKey: undefined,
      mediaMaxBytes: { free: 25 * mb, basic: 100 * mb, pro: 500 * mb, proplus: 2048 * mb },
      mediaQuotas: { free: 5 * gb, basic: 20 * gb, pro: 100 * gb, proplus: 500 * gb },
      databaseQuotas: { free: gb, basic: 2 * gb, pro: 10 * gb, proplus: 50 * gb },
      mediaMaxPixels: 100_000_000,
      jobWorkers: 1,
      stripeUrl: 'https://api.stripe.com',
      catalogueSyncHours: 24,
      mailServer: undefined,
      mailFrom: 'mail@localhost',
      mailDkimDomain: undefined,
      mailDkimSelector: undefined,
      mailDkimPrivateKey: undefined,
      mailDailyLimits: { free: 100, basic: 1000, pro: 10_000, proplus: 100_000 },
      mailGroupHosts: 'public',
      submissionHourlyLimits: { free: 500, basic: 2000, pro: 10_000, proplus: 50_000 },
      rateLimits: {
        anonymous: { perSecond: 20, burst: 100 },
        free: { perSecond: 50, burst: 100 },
        basic: { perSecond: 100, burst: 200 },
        pro: { perSecond: 500, burst: 1000 },
        proplus: { perSecond: 2000, burst: 4000 },
      },
      managePort: undefined,
      manageHost: undefined,
      manageRateLimit: { perSecond: 50, burst: 200 },
      metricsPort: undefined,
      metricsHost: '127.0.0.1',
      metricsToken: undefined,
      answerCacheMb: 32,
      readThreads: undefined,
      maxAnswerBytes: 8_388_608,
      maxConcurrentRequests: 1000,
      maxUnsentMb: 256,
      sendTimeoutSeconds: 60,
      trustProxy: [],
      logLevel: 'info',
    })
  })

  it('treats an empty value as unset', () => {
    const empty = Object.fromEntries(Object.keys(settings).map((name) => [name, '']))
    assert.deepEqual(readConfig(empty), readConfig({}))
  })

  it('describes every setting', () => {
    for (const [name, setting] of Object.entries(settings)) assert.ok(setting.about.endsWith('.'), name)
  })

  it('ignores unknown variables', () => {
    assert.deepEqual(readConfig({ PATH: '/bin', NODE_ENV: 'production', CONSTRUCTOR: 'x' }), readConfig({}))
  })

  it('reads every setting', () => {
    const config = readConfig({
      PORT: '0',
      HOST: '0.0.0.0',
      PUBLIC_URL: 'https://content.example.com/base/',
      DATA_DIR: 'elsewhere',
      DATABASE_URL: 'postgresql://user:pass@db:5432/sluice',
      SLUICE_MASTER_KEY: 'aB'.repeat(32),
      SIGNED_URL_TTL_SECONDS: '60',
      RATE_LIMITS: 'anonymous=1/1,free=2/2,basic=3/3,pro=4/4,proplus=6/7',
      MANAGE_PORT: '4001',
      MANAGE_HOST: '10.0.0.1',
      MANAGE_RATE_LIMIT: '8/9',
      METRICS_PORT: '9464',
      METRICS_HOST: '10.0.0.2',
      METRICS_TOKEN: 'aB3-._~+/='.repeat(2),
      ANSWER_CACHE_MB: '0',
      MAX_CONCURRENT_REQUESTS: '1',
      TRUST_PROXY: '10.0.0.0/8,::1,192.168.1.1,fd00::/8,::ffff:10.0.0.1',
      LOG_LEVEL: 'silent',
      MEDIA_URL: 's3://minio:9000?region=eu-west-1&pathStyle=true&tls=false',
      MEDIA_ACCESS_KEY_ID: 'id',
      MEDIA_SECRET_ACCESS_KEY: 'secret',
      MEDIA_PUBLIC_URL: 'https://files.example.com/',
      MEDIA_SIGNING_KEYS: `${'aB'.repeat(32)},${'01'.repeat(32)}`,
      MEDIA_CDN_URL: 'https://{bucket}.cdn.example.com/',
      MEDIA_CDN_KEY_ID: 'K1',
      MEDIA_CDN_PRIVATE_KEY: '/keys/cdn.pem',
      MEDIA_MAX_BYTES: 'free=1KB,basic=2MB,pro=3MB,proplus=4GB',
      MEDIA_MAX_PIXELS: '1000',
      JOB_WORKERS: '0',
      STRIPE_URL: 'http://127.0.0.1:12111/',
      CATALOGUE_SYNC_HOURS: '0',
      SMTP_URL: 'smtp://ann%40shop.example:p%25w@Smtp.Shop.example:2525?tls=optional',
      MAIL_FROM: 'Hello@BÜCHER.example',
      MAIL_DKIM_DOMAIN: 'shop.example',
      MAIL_DKIM_SELECTOR: 'one',
      MAIL_DKIM_PRIVATE_KEY: '/keys/dkim.pem',
      MAIL_DAILY_LIMITS: 'free=0,basic=1,pro=2,proplus=3',
      MAIL_GROUP_HOSTS: 'any',
      SUBMISSION_HOURLY_LIMITS: 'proplus=4,pro=3,basic=2,free=1',
    })
    assert.equal(config.port, 0)
    assert.equal(config.host, '0.0.0.0')
    assert.equal(config.publicUrl, 'https://content.example.com/base')
    assert.ok(isAbsolute(config.dataDir) && config.dataDir.endsWith('elsewhere'))
    assert.equal(config.databaseUrl, 'postgresql://user:pass@db:5432/sluice')
    assert.deepEqual(config.masterKey, Buffer.alloc(32, 0xab))
    assert.equal(config.signedUrlTtlSeconds, 60)
    assert.deepEqual(config.rateLimits.proplus, { perSecond: 6, burst: 7 })
    assert.equal(config.managePort, 4001)
    assert.equal(config.manageHost, '10.0.0.1')
    assert.deepEqual(config.manageRateLimit, { perSecond: 8, burst: 9 })
    assert.deepEqual([config.metricsPort, config.metricsHost], [9464, '10.0.0.2'])
    assert.equal(config.metricsToken, 'aB3-._~+/='.repeat(2))
    assert.equal(config.answerCacheMb, 0)
    assert.equal(config.maxConcurrentRequests, 1)
    assert.deepEqual(config.trustProxy, ['10.0.0.0/8', '::1', '192.168.1.1', 'fd00::/8', '::ffff:10.0.0.1'])
    assert.equal(config.logLevel, 'silent')
    assert.deepEqual(
      config.mediaLocation,
      { kind: 's3', endpoint: new URL('http://minio:9000'), region: 'eu-west-1', pathStyle: true }, // biome-ignore format: short
    )
    assert.deepEqual([config.mediaAccessKeyId, config.mediaSecretAccessKey], ['id', 'secret'])
    assert.equal(config.mediaPublicUrl, 'https://files.example.com')
    assert.deepEqual(config.mediaSigningKeys, [Buffer.alloc(32, 0xab), Buffer.alloc(32, 1)])
    assert.equal(config.mediaCdnUrl, 'https://{bucket}.cdn.example.com')
    assert.deepEqual([config.mediaCdnKeyId, config.mediaCdnPrivateKey], ['K1', '/keys/cdn.pem'])
    assert.deepEqual(config.mediaMaxBytes, { free: 1024, basic: 2 * mb, pro: 3 * mb, proplus: 4096 * mb })
    assert.equal(config.mediaMaxPixels, 1000)
    assert.equal(config.jobWorkers, 0)
    assert.deepEqual([config.stripeUrl, config.catalogueSyncHours], ['http://127.0.0.1:12111', 0])
    const login = { user: 'ann@shop.example', password: 'p%w' }
    assert.deepEqual(config.mailServer, { host: 'smtp.shop.example', port: 2525, tls: 'optional', login })
    assert.equal(config.mailFrom, 'Hello@xn--bcher-kva.example')
    assert.deepEqual(
      [config.mailDkimDomain, config.mailDkimSelector, config.mailDkimPrivateKey],
      ['shop.example', 'one', '/keys/dkim.pem'],
    )
    assert.deepEqual(config.mailDailyLimits, { free: 0, basic: 1, pro: 2, proplus: 3 })
    assert.equal(config.mailGroupHosts, 'any')
    assert.deepEqual(config.submissionHourlyLimits, { free: 1, basic: 2, pro: 3, proplus: 4 })
    Fastify({ trustProxy: config.trustProxy }) // throws on an address that it cannot read
  })

  it('reads "off" as a disabled management API', () => {
    assert.equal(readConfig({ MANAGE_PORT: 'off' }).managePort, 'off')
  })

  it('returns frozen settings', () => {
    const config = readConfig({})
    assert.ok(Object.isFrozen(config))
    assert.throws(() => Object.assign(config, { port: 1 }), TypeError)
    assert.throws(() => Object.assign(config, { more: 1 }), TypeError)
  })

  const limits = settings.rateLimits.default
  const bad: Record<string, string[]> = {
    PORT: ['-1', '65536', '80.5', '0x50', '1e3', ' 80', '80 ', 'http', 'NaN', '9'.repeat(13)],
    PUBLIC_URL: [
      'content.example.com', 'ftp://a.example', 'javascript:alert(1)', 'https://', 'https://u:p@a.example',
      'https://u@a.example', 'https://:p@a.example', 'https://a.example?x=1', 'https://a.example#x', '//a.example', ' ',
    ],
    DATABASE_URL: ['mysql://a/b', 'sqlite:x', 'postgres:', 'postgres://', 'postgres:///x', ' postgres://a/b', 'db'],
    SLUICE_MASTER_KEY: ['a', 'a'.repeat(63), 'a'.repeat(65), 'g'.repeat(64), 'a'.repeat(128), `${'a'.repeat(64)}\n`],
    SIGNED_URL_TTL_SECONDS: ['0', '59', '604801', '-60', '60.5', '1d'],
    RATE_LIMITS: [
      `${limits},gold=1/1`, 'free', 'free=1', 'free=1/1', '=1/1', ',', limits.replace('free=50/100', 'free=0/100'),
      limits.replace('free=50/100', 'free=50/0'), limits.replace('free=50', 'free=-50'), limits.replace('free=50', 'free=50.5'),
      limits.replace('anonymous', 'unknown'), `${limits},`, `${limits}, more=1/1`, `${limits},__proto__=1/1`,
    ],
    MANAGE_PORT: ['-1', '65536', 'OFF', 'none', 'true', '80.5', ' 80'],
    MANAGE_RATE_LIMIT: ['0/1', '1/0', '1', '1/', '/1', '1/1/1', '-1/1', '1.5/2', ' 1/1', 'free=1/1', '12345678/1'],
    METRICS_PORT: ['-1', '65536', 'off', 'on', '80.5', ' 80'],
    METRICS_TOKEN: ['short', 'a'.repeat(15), 'a'.repeat(201), `${'a'.repeat(16)} `, `${'a'.repeat(16)}\n`, `${'a'.repeat(16)}é`],
    ANSWER_CACHE_MB: ['-1', '65537', '1.5', '64MB', 'off'],
    MAX_CONCURRENT_REQUESTS: ['0', '-1', '1000001', 'many'],
    TRUST_PROXY: [
      'true', 'loopback', '*', 'proxy.example', '10.0.0.0/8, ::1', '999.0.0.1', '10.0.0', '10.0.0.0/33', '10.0.0.0/0', '::1/129',
      '10.0.0.0/', ':::', '.', '10.0.0.1/8/8', 'fe80::1%eth0',
    ],
    MEDIA_URL: ['s3://', 's3://a/bucket', 's3://k:s@a', 's3://a?x=1', 's3://a?tls=yes', 's3://a?region=', 'https://a', 'file://host/x'],
    MEDIA_PUBLIC_URL: ['files.example.com', 'https://u:p@a.example', 'https://a.example?x=1'],
    MEDIA_SIGNING_KEYS: ['a', 'a'.repeat(63), `${'a'.repeat(64)},b`, Array(3).fill('a'.repeat(64)).join(',')],
    MEDIA_CDN_URL: ['cdn.example.com', 'http://cdn.example.com', 'https://cdn.example.com?x=1', 'https://{host}.example.com'],
    MEDIA_MAX_BYTES: ['25MB', 'free=25MB', 'free=1MB,basic=1MB,pro=1MB,gold=1MB', 'free=0MB,basic=1MB,pro=1MB,proplus=1MB', 'free=1,basic=1MB,pro=1MB,proplus=1MB', 'free=1MB,basic=1MB,pro=1MB,proplus=1MB,free=1MB'],
    MEDIA_MAX_PIXELS: ['0', '-1', 'many', '1000000001'],
    JOB_WORKERS: ['-1', '65', 'on'],
    STRIPE_URL: ['api.stripe.com', 'https://u:p@a.example', 'https://a.example?x=1'],
    CATALOGUE_SYNC_HOURS: ['-1', '8761', '1.5', 'nightly'],
    SMTP_URL: [
      'smtp.example.com', 'https://a.example', 'smtp://', 'smtp://a.example/x', 'smtp://a.example#x', 'smtp://u@a.example',
      'smtp://:p@a.example', 'smtp://a.example?pool=true', 'smtp://a.example?tls=maybe', 'smtps://a.example?tls=off', 'smtp://u:%zz@a.example',
    ],
    MAIL_FROM: ['mail', 'a@b', 'Shop <mail@shop.example>', 'a@shop.example,b@shop.example', 'a@shop.example\r\nBcc: b@x.example'],
    MAIL_DAILY_LIMITS: ['100', 'free=1', 'free=1,basic=1,pro=1,gold=1', 'free=-1,basic=1,pro=1,proplus=1', 'free=1,basic=1,pro=1,proplus=1,free=1'],
    MAIL_GROUP_HOSTS: ['private', 'PUBLIC', 'all'],
    SUBMISSION_HOURLY_LIMITS: ['many', 'free=1,basic=1,pro=1,proplus=1.5'],
    LOG_LEVEL: ['INFO', 'verbose', 'constructor', '0'],
  } // biome-ignore format: one line reads better
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      it(`refuses ${name}=${JSON.stringify(value.slice(0, 80))} by name`, () => {
        assert.match(messageOf({ [name]: value }), new RegExp(`^The settings cannot be used:\\n  ${name} must .*\\.$`))
      })
    }
  }

  it('reports all invalid values at once, and no valid one', () => {
    const env = Object.fromEntries(Object.entries(bad).map(([name, [value = '']]) => [name, value]))
    const lines = messageOf({ ...env, HOST: 'localhost' })
      .split('\n')
      .slice(1)
    assert.deepEqual(
      lines.map((line) => line.trim().split(' ')[0]),
      Object.values(settings)
        .map(({ name }) => name)
        .filter((name) => name in bad),
    )
  })

  it('does not repeat an invalid value, which may be a secret', () => {
    const canary = 'canary-4711'
    const env = Object.fromEntries(Object.keys(bad).map((name) => [name, canary]))
    assert.ok(!messageOf(env).includes(canary))
  })
})
