import { isIP } from 'node:net'
import { deliverableAddress } from '../content/email.ts'
import { isTier, type Tier, tiers } from '../core/tiers.ts'
import { type MailServerAddress, parseMailServer } from '../mail/server-address.ts'
import type { RateLimit } from '../security/rate-limiter.ts'

/** Parsers of the settings' texts. Each throws with the end of the sentence "NAME …". */

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d{1,12}$/.test(text) || value < least || value > most) {
      throw new Error(`must be a whole number from ${least} to ${most}`)
    }
    return value
  }
}

export function oneOf<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return (text) => {
    const value = values.find((candidate) => candidate === text)
    if (value === undefined) throw new Error(`must be one of ${values.join(', ')}`)
    return value
  }
}

export function httpUrl(text: string): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  const plain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  if (!plain) throw new Error('must be an http or https address such as https://content.example.com')
  return url.href.replace(/\/$/, '')
}

export function databaseUrl(text: string): string | undefined {
  if (text === '') return undefined
  if (!/^postgres(ql)?:\/\/[^/]/.test(text))
    throw new Error('must be an address such as postgres://user@host/database, or unset for SQLite')
  return text
}

export function masterKey(text: string): Buffer | undefined {
  if (text === '') return undefined
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw new Error('must be 32 bytes as 64 hex digits (openssl rand -hex 32)')
  return Buffer.from(text, 'hex')
}

function isAddressOrNetwork(text: string): boolean {
  const [, address = '', bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= (family === 4 ? 32 : 128)))
}

export function addressList(text: string): string[] {
  const addresses = text.split(',').filter((address) => address !== '')
  if (!addresses.every(isAddressOrNetwork)) {
    throw new Error('must be IP addresses or networks separated by commas, such as 10.0.0.0/8,::1')
  }
  return addresses
}

/** `anonymous` is for callers without a valid key. */
type RateLimits = Record<Tier | 'anonymous', RateLimit>

function parseRate(text: string): RateLimit | undefined {
  const [, perSecond, burst] = /^(\d{1,7})\/(\d{1,7})$/.exec(text) ?? []
  const limit = { perSecond: Number(perSecond), burst: Number(burst) }
  return limit.perSecond >= 1 && limit.burst >= 1 ? limit : undefined
}

export function rateLimit(text: string): RateLimit {
  const limit = parseRate(text)
  if (!limit) throw new Error('must be requests per second / burst, such as 50/200')
  return limit
}

export const portOrOff = (text: string): number | 'off' | undefined =>
  text === '' ? undefined : text === 'off' ? 'off' : wholeNumber(0, 65_535)(text)

export function rateLimits(text: string): RateLimits {
  const limits: Partial<Record<string, RateLimit>> = {}
  for (const entry of text.split(',')) {
    const [, tier = '', rate = ''] = /^([a-z]+)=(.*)$/.exec(entry) ?? []
    const limit = parseRate(rate)
    if (!limit) throw new Error('must be entries such as free=50/100 (requests per second / burst) separated by commas')
    if (tier !== 'anonymous' && !isTier(tier))
      throw new Error(`must not have an entry for "${tier}", which is not a tier`)
    limits[tier] = limit
  }
  for (const tier of ['anonymous', ...tiers]) {
    if (!Object.hasOwn(limits, tier)) throw new Error(`must have an entry for ${tier}`)
  }
  return limits as RateLimits
}

const byteUnits: Record<string, number> = { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }

function parseBytes(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})(KB|MB|GB)$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (byteUnits[unit] ?? 1)
}

export function bytesByTier(text: string): Record<Tier, number> {
  const entries = text.split(',').map((entry): [string, number | undefined] => {
    const [tier = '', size = ''] = entry.split('=')
    return [tier, parseBytes(size)]
  })
  const sizes = Object.fromEntries(entries)
  if (entries.length !== tiers.length || !tiers.every((tier) => sizes[tier])) {
    throw new Error(`must be a size for each tier, such as ${tiers.map((tier) => `${tier}=25MB`).join(',')}`)
  }
  return sizes as Record<Tier, number>
}

export function countsByTier(text: string): Record<Tier, number> {
  const entries = text.split(',').map((entry): [string, number] => {
    const [, tier = '', count = ''] = /^([a-z]+)=(\d{1,9})$/.exec(entry) ?? []
    return [tier, Number(count)]
  })
  const counts = Object.fromEntries(entries)
  if (entries.length !== tiers.length || !tiers.every((tier) => Object.hasOwn(counts, tier)))
    throw new Error(`must be a number for each tier, such as ${tiers.map((tier) => `${tier}=500`).join(',')}`)
  return counts as Record<Tier, number>
}

export const mailServer = (text: string): MailServerAddress | undefined =>
  text === '' ? undefined : parseMailServer(text)

export function mailAddress(text: string): string {
  const address = deliverableAddress(text)
  if (address === undefined) throw new Error('must be one e-mail address such as mail@example.com')
  return address
}

/** Guessing it must be hopeless, and it must fit into a header. */
export function scrapeToken(text: string): string | undefined {
  if (text === '') return undefined
  if (!/^[\w.~+/=-]{16,200}$/.test(text))
    throw new Error('must be 16 to 200 letters, digits or any of -._~+/= (openssl rand -hex 32)')
  return text
}

/** The first one signs; signatures of both are accepted. */
export function signingKeys(text: string): Buffer[] {
  const keys = text.split(',').filter((key) => key !== '')
  if (keys.length > 2 || !keys.every((key) => /^[0-9a-fA-F]{64}$/.test(key)))
    throw new Error('must be one or two keys of 64 hex digits (openssl rand -hex 32) with a comma between them')
  return keys.map((key) => Buffer.from(key, 'hex'))
}

/** An address in which `{bucket}` stands for the name of the bucket. */
export function cdnUrl(text: string): string | undefined {
  if (text === '') return undefined
  const example = text.replaceAll('{bucket}', 'bucket')
  if (/[{}]/.test(example) || !httpUrl(example)?.startsWith('https:'))
    throw new Error('must be an https address such as https://cdn.example.com or https://cdn.example.com/{bucket}')
  return text.replace(/\/$/, '')
}

export const textOrNone = (text: string): string | undefined => text || undefined
