import { join, resolve } from 'node:path'
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
} from './config-values.ts'
import { invalid } from './errors.ts'
import { parseMediaPlace } from './media/place.ts'

/** One thing that can be set from outside: the variable's name, default, meaning and check. */
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

/** All that can be set, by its name in `Config`. The documentation's table is made from this one. */
export const settings = {
  port: setting('PORT', '4000', 'Port to listen on; 0 takes a free one.', wholeNumber(0, 65_535)),
  host: setting('HOST', '127.0.0.1', 'Address to listen on; `0.0.0.0` for all.', (text) => text),
  publicUrl: setting(
    'PUBLIC_URL',
    '',
    'Address under which clients reach the service, for media URLs. Default: `http://HOST:PORT`.',
    httpUrl,
  ),
  dataDir: setting(
    'DATA_DIR',
    '',
    'Folder of the SQLite files, media and the master key. Default: `data` in Sluice’s own folder.',
    (text) => (text === '' ? join(import.meta.dirname, '../data') : resolve(text)),
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
    '32 bytes as 64 hex digits; signing keys come from it. Default: made on first start in `DATA_DIR/master.key`. Must be the same on every machine.',
    masterKey,
  ),
  signedUrlTtlSeconds: setting(
    'SIGNED_URL_TTL_SECONDS',
    '86400',
    'Longest life of a signed media URL; every URL handed out lives at least half of it.',
    wholeNumber(60, 604_800),
  ),
  mediaPlace: setting(
    'MEDIA_URL',
    '',
    'Where files are kept: a folder, or `s3://ENDPOINT?region=…&pathStyle=true&tls=false`, in which each group’s bucket must exist. Default: `DATA_DIR/media`.',
    parseMediaPlace,
  ),
  mediaAccessKeyId: setting('MEDIA_ACCESS_KEY_ID', '', 'Who we are at the S3 store.', textOrNone),
  mediaSecretAccessKey: setting('MEDIA_SECRET_ACCESS_KEY', '', 'And how we prove it.', textOrNone),
  mediaPublicUrl: setting(
    'MEDIA_PUBLIC_URL',
    '',
    'Address under which visitors reach files that we serve ourselves, such as a host of its own. Default: `PUBLIC_URL`.',
    httpUrl,
  ),
  mediaSigningKeys: setting(
    'MEDIA_SIGNING_KEYS',
    '',
    'One or two keys of 64 hex digits: the first signs our own media URLs, both are accepted, so a key can be changed while the old URLs live. Default: one made from the master key.',
    signingKeys,
  ),
  mediaCdnUrl: setting(
    'MEDIA_CDN_URL',
    '',
    'Address of a CloudFront distribution before the S3 store; `{bucket}` stands for the bucket’s name.',
    cdnUrl,
  ),
  mediaCdnKeyId: setting('MEDIA_CDN_KEY_ID', '', 'Id of the public key in the distribution’s key group.', textOrNone),
  mediaCdnPrivateKey: setting(
    'MEDIA_CDN_PRIVATE_KEY',
    '',
    'Its private key, RSA 2048 or ECDSA P-256, as PEM or as the path of a PEM file.',
    textOrNone,
  ),
  mediaMaxBytes: setting(
    'MEDIA_MAX_BYTES',
    'free=25MB,basic=100MB,pro=500MB,proplus=2GB',
    'Largest file that a group of each tier can upload.',
    bytesByTier,
  ),
  mediaQuotas: setting(
    'MEDIA_QUOTAS',
    'free=5GB,basic=20GB,pro=100GB,proplus=500GB',
    'Storage for the files of a group of each tier, with the smaller pictures that are made of them.',
    bytesByTier,
  ),
  databaseQuotas: setting(
    'DATABASE_QUOTAS',
    'free=1GB,basic=2GB,pro=10GB,proplus=50GB',
    'Storage for what a group of each tier has in the database: objects with their versions and index, submissions, e-mails, the record of changes.',
    bytesByTier,
  ),
  mediaMaxPixels: setting(
    'MEDIA_MAX_PIXELS',
    '100000000',
    'Most pixels of a picture (width × height); larger ones are refused.',
    wholeNumber(1, 1_000_000_000),
  ),
  jobWorkers: setting(
    'JOB_WORKERS',
    '1',
    'Jobs of each kind that this process works on at once; 0 to leave them to other processes.',
    wholeNumber(0, 64),
  ),
  stripeUrl: setting(
    'STRIPE_URL',
    'https://api.stripe.com',
    'Where Stripe’s API is reached; another address for a proxy before it.',
    (text) => httpUrl(text) ?? '',
  ),
  catalogueSyncHours: setting(
    'CATALOGUE_SYNC_HOURS',
    '24',
    'After so many hours the catalogue of each payment account is compared with the provider’s as a whole; 0 to do so by hand only.',
    wholeNumber(0, 8760),
  ),
  mailServer: setting(
    'SMTP_URL',
    '',
    'The mail server: `smtp://user:password@host:587` (with STARTTLS, unless it says `?tls=optional` or `?tls=off`) or `smtps://…`. Unset: e-mails are put into `DATA_DIR/mailbox`, and nobody gets them.',
    mailServer,
  ),
  mailFrom: setting(
    'MAIL_FROM',
    'mail@localhost',
    'Address from which e-mails are sent, and to which what cannot be delivered comes back.',
    mailAddress,
  ),
  mailDkimDomain: setting('MAIL_DKIM_DOMAIN', '', 'Domain in whose name e-mails are signed (DKIM).', textOrNone),
  mailDkimSelector: setting('MAIL_DKIM_SELECTOR', '', 'Which of the domain’s keys it is.', textOrNone),
  mailDkimPrivateKey: setting(
    'MAIL_DKIM_PRIVATE_KEY',
    '',
    'The private RSA key, as PEM or as the path of a PEM file.',
    textOrNone,
  ),
  mailDailyLimits: setting(
    'MAIL_DAILY_LIMITS',
    'free=100,basic=1000,pro=10000,proplus=100000',
    'E-mails that a group of each tier may send in a day of UTC.',
    countsByTier,
  ),
  mailGroupHosts: setting(
    'MAIL_GROUP_HOSTS',
    'public',
    '`public`: mail servers that groups bring themselves must be on the public Internet; `any`: they may be inside your network, too.',
    oneOf(['public', 'any'] as const),
  ),
  submissionHourlyLimits: setting(
    'SUBMISSION_HOURLY_LIMITS',
    'free=500,basic=2000,pro=10000,proplus=50000',
    'Submissions that a group of each tier may get from visitors in an hour.',
    countsByTier,
  ),
  rateLimits: setting(
    'RATE_LIMITS',
    'anonymous=20/100,free=50/100,basic=100/200,pro=500/1000,proplus=2000/4000',
    'Requests per second / burst by tier, for each group and process. `anonymous`: refused requests and the sandbox’s pages, by address.',
    rateLimits,
  ),
  managePort: setting(
    'MANAGE_PORT',
    '',
    'Port of the management API, if it is to have its own; `off` to have none. Default: the same as the delivery API.',
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
    'Requests per second / burst of each token of the management API; those of a group together get four times as much.',
    rateLimit,
  ),
  metricsPort: setting(
    'METRICS_PORT',
    '',
    'Port at which `/metrics` tells Prometheus how the service is doing. Default: none.',
    (text) => (text === '' ? undefined : wholeNumber(0, 65_535)(text)),
  ),
  metricsHost: setting('METRICS_HOST', '127.0.0.1', 'Address to listen on for `METRICS_PORT`.', (text) => text),
  metricsToken: setting(
    'METRICS_TOKEN',
    '',
    'What Prometheus must send as `Authorization: Bearer …`. Without `METRICS_PORT`, `/metrics` is on the port of the delivery API, for who has the token.',
    scrapeToken,
  ),
  answerCacheMb: setting(
    'ANSWER_CACHE_MB',
    '64',
    'Memory for finished answers of the content endpoints, in MB, for each process; 0 to make every answer anew.',
    wholeNumber(0, 65_536),
  ),
  readThreads: setting(
    'READ_THREADS',
    '',
    'SQLite only: threads that make answers beside the main one when many are asked for at once. Default: one less than there are processors, at most 4.',
    (text) => (text === '' ? undefined : wholeNumber(0, 64)(text)),
  ),
  maxAnswerBytes: setting(
    'MAX_ANSWER_BYTES',
    String(8 * 2 ** 20),
    'Most bytes of an answer that lists or shows content, and of what is stored of it, private fields included; a longer one is refused with 400. From 100000 to 67108864. An object has up to 4 MB: with less than that some cannot be shown at all.',
    wholeNumber(100_000, 64 * 2 ** 20),
  ),
  maxConcurrentRequests: setting(
    'MAX_CONCURRENT_REQUESTS',
    '1000',
    'Requests in work at once; one more is answered 503. Bodies that are still arriving (40 MB of one caller, 160 MB in all) and uploads (8 of one user, 64 in all) have limits of their own.',
    wholeNumber(1, 1_000_000),
  ),
  maxUnsentMb: setting(
    'MAX_UNSENT_MB',
    '256',
    'Memory for answers that their clients are slow to read, in MB, for each process. One group, user or anonymous address may have a quarter of it, and gets 429 beyond; where all of it is used, the connection that has stood still for longest is cut off.',
    wholeNumber(1, 65_536),
  ),
  sendTimeoutSeconds: setting(
    'SEND_TIMEOUT_SECONDS',
    '60',
    'A client that takes less than 1 KB a second of an answer, over so many seconds, is cut off.',
    wholeNumber(1, 3600),
  ),
  trustProxy: setting(
    'TRUST_PROXY',
    '',
    'Addresses of your reverse proxies. Only from these are X-Forwarded-* headers believed.',
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
