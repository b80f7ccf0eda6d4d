import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { RateLimit } from './rate-limiter.ts'

/** Everything that can be set from outside, in one table: name, default, meaning and check. */
interface Setting<Value> {
  default: string
  about: string
  /** Throws with the end of the sentence "NAME …". */
  parse(text: string): Value
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d{1,12}$/.test(text) || value < least || value > most) {
      throw new Error(`must be a whole number from ${least} to ${most}`)
    }
    return value
  }
}

function oneOf<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return (text) => {
    const value = values.find((candidate) => candidate === text)
    if (value === undefined) throw new Error(`must be one of ${values.join(', ')}`)
    return value
  }
}

function httpUrl(text: string): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  const plain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  if (!plain) throw new Error('must be an http or https address such as https://content.example.com')
  return url.href.replace(/\/$/, '')
}

function databaseUrl(text: string): string | undefined {
  if (text === '') return undefined
  if (!/^postgres(ql)?:\/\/[^/]/.test(text)) throw new Error('must begin with postgres:// (leave it unset for SQLite)')
  return text
}

function masterKey(text: string): Buffer | undefined {
  if (text === '') return undefined
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw new Error('must be 32 bytes as 64 hex digits (openssl rand -hex 32)')
  return Buffer.from(text, 'hex')
}

function isAddressOrNetwork(text: string): boolean {
  const [, address = '', bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= (family === 4 ? 32 : 128)))
}

function addressList(text: string): string[] {
  const addresses = text.split(',').filter((address) => address !== '')
  if (!addresses.every(isAddressOrNetwork)) {
    throw new Error('must be IP addresses or networks separated by commas, such as 10.0.0.0/8,::1')
  }
  return addresses
}

function rateLimits(text: string): Record<string, RateLimit> {
  const entries = text.split(',').map((entry) => {
    const match = /^([a-z]+)=(\d{1,7})\/(\d{1,7})$/.exec(entry)
    const [, tier = '', perSecond, burst] = match ?? []
    if (Number(perSecond) < 1 || Number(burst) < 1 || !match) {
      throw new Error('must be entries such as free=50/100 (requests per second / burst) separated by commas')
    }
    return [tier, { perSecond: Number(perSecond), burst: Number(burst) }] as const
  })
  const limits = Object.fromEntries(entries)
  for (const tier of ['anonymous', 'free', 'basic', 'pro', 'proplus']) {
    if (!Object.hasOwn(limits, tier)) throw new Error(`must have an entry for ${tier}`)
  }
  return limits
}

function setting<Value>(fallback: string, about: string, parse: (text: string) => Value): Setting<Value> {
  return { default: fallback, about, parse }
}

export const settings = {
  PORT: setting('4000', 'Port to listen on; 0 takes a free one.', wholeNumber(0, 65_535)),
  HOST: setting('127.0.0.1', 'Address to listen on; `0.0.0.0` for all.', (text) => text),
  PUBLIC_URL: setting(
    '',
    'Address under which clients reach the service, for media URLs. Default: `http://HOST:PORT`.',
    httpUrl,
  ),
  DATA_DIR: setting('./data', 'Folder of the SQLite files, media and the master key.', (text) => resolve(text)),
  DATABASE_URL: setting('', '`postgres://…` to use PostgreSQL; unset for SQLite in `DATA_DIR`.', databaseUrl),
  SLUICE_MASTER_KEY: setting(
    '',
    '32 bytes as 64 hex digits; signing keys come from it. Default: made on first start in `DATA_DIR/master.key`. Must be the same on every machine.',
    masterKey,
  ),
  SIGNED_URL_TTL_SECONDS: setting(
    '86400',
    'Longest life of a signed media URL; every URL handed out lives at least half of it.',
    wholeNumber(60, 604_800),
  ),
  RATE_LIMITS: setting(
    'anonymous=20/100,free=50/100,basic=100/200,pro=500/1000,proplus=2000/4000',
    'Requests per second / burst by tier, for each group and process. `anonymous`: refused requests, by address.',
    rateLimits,
  ),
  MAX_CONCURRENT_REQUESTS: setting(
    '1000',
    'Requests in work at once; one more is answered 503.',
    wholeNumber(1, 1_000_000),
  ),
  TRUST_PROXY: setting(
    '',
    'Addresses of your reverse proxies. Only from these are X-Forwarded-* headers believed.',
    addressList,
  ),
  LOG_LEVEL: setting('info', `One of ${logLevels.join(', ')}.`, oneOf(logLevels)),
}

type Settings = typeof settings

export interface Config {
  port: ReturnType<Settings['PORT']['parse']>
  host: string
  publicUrl: string | undefined
  dataDir: string
  databaseUrl: string | undefined
  masterKey: Buffer | undefined
  signedUrlTtlSeconds: number
  rateLimits: Record<string, RateLimit>
  maxConcurrentRequests: number
  trustProxy: string[]
  logLevel: (typeof logLevels)[number]
}

/** Reads and checks the environment once. Throws one error that names every bad value. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Readonly<Config> {
  const problems: string[] = []
  function read<Value>(name: keyof Settings, { default: fallback, parse }: Setting<Value>): Value {
    try {
      return parse(env[name] || fallback)
    } catch (error) {
      problems.push(`${name} ${(error as Error).message}.`)
      return parse(fallback)
    }
  }
  const config = {
    port: read('PORT', settings.PORT),
    host: read('HOST', settings.HOST),
    publicUrl: read('PUBLIC_URL', settings.PUBLIC_URL),
    dataDir: read('DATA_DIR', settings.DATA_DIR),
    databaseUrl: read('DATABASE_URL', settings.DATABASE_URL),
    masterKey: read('SLUICE_MASTER_KEY', settings.SLUICE_MASTER_KEY),
    signedUrlTtlSeconds: read('SIGNED_URL_TTL_SECONDS', settings.SIGNED_URL_TTL_SECONDS),
    rateLimits: read('RATE_LIMITS', settings.RATE_LIMITS),
    maxConcurrentRequests: read('MAX_CONCURRENT_REQUESTS', settings.MAX_CONCURRENT_REQUESTS),
    trustProxy: read('TRUST_PROXY', settings.TRUST_PROXY),
    logLevel: read('LOG_LEVEL', settings.LOG_LEVEL),
  }
  if (problems.length > 0) throw new Error(`The settings cannot be used:\n  ${problems.join('\n  ')}`)
  return Object.freeze(config)
}
