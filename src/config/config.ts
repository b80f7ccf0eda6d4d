import { join, resolve } from 'node:path'
import { invalid } from '../core/errors.ts'
import { defaultTierLimits } from '../core/tiers.ts'
import { parseStorageLocation } from '../media/storage-location.ts'
import {
  addressList,
  bytesByTier,
  cdnUrl,
  countsByTier,
  databaseUrl,
  httpUrl,
  mailAddress,
  mailServer,
  masterKey,
  oneOf,
  portOrOff,
  rateLimit,
  rateLimits,
  scrapeToken,
  signingKeys,
  textOrNone,
  wholeNumber,
} from './values.ts'

/** A setting from the environment: the variable's name, default, description and parser. */
interface Setting<Value> {
  name: string
  default: string
  about: string
  /** Throws with the end of the sentence "NAME …". */
  parse(text: string): Value
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

function setting<Value>(name: string, fallback: string, about: string, parse: (text: string) => Value): Setting<Value> {
  return { name, default: fallback, about, parse }
}

/** All settings, by their names in `Config`. The table in docs/operations.md is generated from this one. */
export const settings = {
  port: setting('PORT', '4000', 'Port to listen on; 0 takes a free one.', wholeNumber(0, 65_535)),
  host: setting('HOST', '127.0.0.1', 'Address to listen on; `0.0.0.0` for all.', (text) => text),
  publicUrl: setting(
    'PUBLIC_URL',
    '',
    'Public address of the service, used in media URLs. Default: `http://HOST:PORT`.',
    httpUrl,
  ),
  dataDir: setting(
    'DATA_DIR',
    '',
    'Folder of the SQLite files, media and the master key. Default: `data` in Sluice’s own folder.',
    (text) => (text === '' ? join(import.meta.dirname, '../../data') : resolve(text)),
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    '',
    '`postgres://…` to use PostgreSQL; unset for SQLite in `DATA_DIR`.',
    databaseUrl,
  ),
  databasePrepare: setting(
    'DATABASE_PREPARE',
    'on',
    '`off` where connections to PostgreSQL go through a pooler that cannot keep prepared statements, such as PgBouncer before 1.21 in transaction mode.',
    oneOf(['on', 'off'] as const),
  ),
  masterKey: setting(
    'SLUICE_MASTER_KEY',
    '',
    '32 bytes as 64 hex digits; signing keys are derived from it. Default: generated on first start in `DATA_DIR/master.key`. Must be the same on every machine.',
    masterKey,
  ),
  signedUrlTtlSeconds: setting(
    'SIGNED_URL_TTL_SECONDS',
    '86400',
    'Longest lifetime of a signed media URL; every URL in an answer is valid for at least half of it.',
    wholeNumber(60, 604_800),
  ),
  mediaLocation: setting(
    'MEDIA_URL',
    '',
    'Where files are stored: a folder, or `s3://ENDPOINT?region=…&pathStyle=true&tls=false`, in which each group’s bucket must exist. Default: `DATA_DIR/media`.',
    parseStorageLocation,
  ),
  mediaAccessKeyId: setting('MEDIA_ACCESS_KEY_ID', '', 'S3 access key id.', textOrNone),
  mediaSecretAccessKey: setting('MEDIA_SECRET_ACCESS_KEY', '', 'S3 secret access key.', textOrNone),
  mediaPublicUrl: setting(
    'MEDIA_PUBLIC_URL',
    '',
    'Public address of files that the service delivers itself, such as a separate host. Default: `PUBLIC_URL`.',
    httpUrl,
  ),
  mediaSigningKeys: setting(
    'MEDIA_SIGNING_KEYS',
    '',
    'One or two keys of 64 hex digits: the first signs the service’s own media URLs, both are accepted, so that a key can be rotated while old URLs are valid. Default: a key derived from the master key.',
    signingKeys,
  ),
  mediaCdnUrl: setting(
    'MEDIA_CDN_URL',
    '',
    'Address of a CloudFront distribution in front of the S3 store; `{bucket}` is replaced by the bucket’s name.',
    cdnUrl,
  ),
  mediaCdnKeyId: setting('MEDIA_CDN_KEY_ID', '', 'Id of the public key in the distribution’s key group.', textOrNone),
  mediaCdnPrivateKey: setting(
    'MEDIA_CDN_PRIVATE_KEY',
    '',
    'Private key of that key id, RSA 2048 or ECDSA P-256, as PEM or as the path of a PEM file.',
    textOrNone,
  ),
  mediaMaxBytes: setting(
    'MEDIA_MAX_BYTES',
    defaultTierLimits.MEDIA_MAX_BYTES,
    'Largest file that a group of each tier may upload.',
    bytesByTier,
  ),
  mediaQuotas: setting(
    'MEDIA_QUOTAS',
    defaultTierLimits.MEDIA_QUOTAS,
    'Storage for the files of a group of each tier, including the smaller images derived from them.',
    bytesByTier,
  ),
  databaseQuotas: setting(
    'DATABASE_QUOTAS',
    defaultTierLimits.DATABASE_QUOTAS,
    'Database storage for a group of each tier: objects with their versions and index, submissions, e-mails, the audit log.',
    bytesByTier,
  ),
  mediaMaxPixels: setting(
    'MEDIA_MAX_PIXELS',
    '100000000',
    'Maximum pixels of an image (width × height); larger ones are refused.',
    wholeNumber(1, 1_000_000_000),
  ),
  jobWorkers: setting(
    'JOB_WORKERS',
    '1',
    'Jobs of each kind that this process runs concurrently; 0 to leave them to other processes.',
    wholeNumber(0, 64),
  ),
  stripeUrl: setting(
    'STRIPE_URL',
    'https://api.stripe.com',
    'Base URL of Stripe’s API; change it for a proxy.',
    (text) => httpUrl(text) ?? '',
  ),
  catalogueSyncHours: setting(
    'CATALOGUE_SYNC_HOURS',
    '24',
    'Hours between full synchronisations of each payment account’s catalogue; 0 to synchronise manually only.',
    wholeNumber(0, 8760),
  ),
  mailServer: setting(
    'SMTP_URL',
    '',
    'The mail server: `smtp://user:password@host:587` (with STARTTLS, unless `?tls=optional` or `?tls=off` is given) or `smtps://…`. Unset: e-mails are written to `DATA_DIR/mailbox` and not sent.',
    mailServer,
  ),
  mailFrom: setting('MAIL_FROM', 'mail@localhost', 'Sender address of e-mails; bounces go to it.', mailAddress),
  mailDkimDomain: setting('MAIL_DKIM_DOMAIN', '', 'Domain for DKIM signatures.', textOrNone),
  mailDkimSelector: setting('MAIL_DKIM_SELECTOR', '', 'DKIM selector of the domain’s key.', textOrNone),
  mailDkimPrivateKey: setting(
    'MAIL_DKIM_PRIVATE_KEY',
    '',
    'Private RSA key for DKIM, as PEM or as the path of a PEM file.',
    textOrNone,
  ),
  mailDailyLimits: setting(
    'MAIL_DAILY_LIMITS',
    defaultTierLimits.MAIL_DAILY_LIMITS,
    'E-mails that a group of each tier may send per day (UTC).',
    countsByTier,
  ),
  mailGroupHosts: setting(
    'MAIL_GROUP_HOSTS',
    'public',
    '`public`: mail servers configured by groups must be on the public Internet; `any`: they may also be inside your network.',
    oneOf(['public', 'any'] as const),
  ),
  submissionHourlyLimits: setting(
    'SUBMISSION_HOURLY_LIMITS',
    defaultTierLimits.SUBMISSION_HOURLY_LIMITS,
    'Submissions that a group of each tier may receive per hour.',
    countsByTier,
  ),
  rateLimits: setting(
    'RATE_LIMITS',
    defaultTierLimits.RATE_LIMITS,
    'Requests per second / burst by tier, for each group and process. `anonymous`: rejected requests and the sandbox’s pages, by IP address.',
    rateLimits,
  ),
  managePort: setting(
    'MANAGE_PORT',
    '',
    'Separate port for the management API; `off` to disable it. Default: the port of the delivery API.',
    portOrOff,
  ),
  manageHost: setting(
    'MANAGE_HOST',
    '',
    'Address to listen on for `MANAGE_PORT`. Default: `HOST`.',
    (text) => text || undefined,
  ),
  manageRateLimit: setting(
    'MANAGE_RATE_LIMIT',
    '50/200',
    'Requests per second / burst of each token of the management API; all tokens of a group together get four times as much.',
    rateLimit,
  ),
  metricsPort: setting('METRICS_PORT', '', 'Separate port for `/metrics` (Prometheus). Default: none.', (text) =>
    text === '' ? undefined : wholeNumber(0, 65_535)(text),
  ),
  metricsHost: setting('METRICS_HOST', '127.0.0.1', 'Address to listen on for `METRICS_PORT`.', (text) => text),
  metricsToken: setting(
    'METRICS_TOKEN',
    '',
    'Token that Prometheus sends as `Authorization: Bearer …`. Without `METRICS_PORT`, `/metrics` is on the port of the delivery API, for callers with the token.',
    scrapeToken,
  ),
  answerCacheMb: setting(
    'ANSWER_CACHE_MB',
    '32',
    'Cache for answers of the content endpoints, in MB per process; 0 to disable it.',
    wholeNumber(0, 65_536),
  ),
  readThreads: setting(
    'READ_THREADS',
    '',
    'SQLite only: worker threads that build answers besides the main thread under load. Default: one fewer than processors, at most 4.',
    (text) => (text === '' ? undefined : wholeNumber(0, 64)(text)),
  ),
  maxAnswerBytes: setting(
    'MAX_ANSWER_BYTES',
    String(8 * 2 ** 20),
    'Maximum bytes of a content answer, and of the stored values it is built from, private fields included; a longer one is refused with 400. From 100000 to 67108864. An object may have 4 MB: with a lower limit some objects cannot be delivered.',
    wholeNumber(100_000, 64 * 2 ** 20),
  ),
  maxConcurrentRequests: setting(
    'MAX_CONCURRENT_REQUESTS',
    '1000',
    'Maximum concurrent requests; one more is answered 503. Bodies that are still arriving (40 MB per caller, 160 MB in total) and uploads (8 per user, 64 in total) have separate limits.',
    wholeNumber(1, 1_000_000),
  ),
  maxUnsentMb: setting(
    'MAX_UNSENT_MB',
    '256',
    'Memory for answers whose clients read slowly, in MB per process. One group, user or anonymous address may use a quarter of it, and gets 429 beyond that; when all of it is used, the connection that has been idle for longest is closed.',
    wholeNumber(1, 65_536),
  ),
  sendTimeoutSeconds: setting(
    'SEND_TIMEOUT_SECONDS',
    '60',
    'A client that reads less than 1 KB per second of an answer for this many seconds is disconnected.',
    wholeNumber(1, 3600),
  ),
  trustProxy: setting(
    'TRUST_PROXY',
    '',
    'Addresses of your reverse proxies. X-Forwarded-* headers are trusted only from these.',
    addressList,
  ),
  logLevel: setting('LOG_LEVEL', 'info', `One of ${logLevels.join(', ')}.`, oneOf(logLevels)),
}

type Settings = typeof settings

export type Config = { readonly [Name in keyof Settings]: ReturnType<Settings[Name]['parse']> }

/** Reads and checks the environment once. Throws one error that names every bad value. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = []
  const values = Object.entries(settings).map(([key, { name, default: fallback, parse }]) => {
    try {
      return [key, parse(env[name] || fallback)]
    } catch (error) {
      problems.push(`${name} ${(error as Error).message}.`)
      return [key, undefined]
    }
  })
  if (problems.length > 0) throw invalid(`The settings cannot be used:\n  ${problems.join('\n  ')}`)
  return Object.freeze(Object.fromEntries(values))
}
