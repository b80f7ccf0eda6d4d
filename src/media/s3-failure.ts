import { certificateFailure } from '../certificate-failure.ts'
import { AppError } from '../errors.ts'
import { readElement } from './s3-xml.ts'

/** What we wanted of the store, for the sentence "It was not possible to …". */
export interface S3Wish {
  operation: string
  bucketName: string
}

interface S3FailureOptions {
  s3Code?: string | undefined
  httpStatus?: number
  mayPass: boolean
}

/** The store refused or did not answer. Never holds an address, a header or a key. */
export class S3Failure extends AppError {
  /** S3's own name of what is wrong, where it gave one. */
  readonly s3Code: string | undefined
  /** Undefined where there was no answer. */
  readonly httpStatus: number | undefined
  /** Whether the same request may succeed a moment later. */
  readonly mayPass: boolean

  constructor(wish: S3Wish, why: string, advice: string, options: S3FailureOptions) {
    super(
      'Unavailable',
      `It was not possible to ${wish.operation} in the bucket "${wish.bucketName}": ${why}. ${advice}`,
      { retryAfterSeconds: options.mayPass ? 5 : 60 }, // what does not pass, an operator must put right first
    )
    this.s3Code = options.s3Code
    this.httpStatus = options.httpStatus
    this.mayPass = options.mayPass
  }
}

const checkKeys = 'Check MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY.'
const checkRegion = 'Check the endpoint and the region in MEDIA_URL.'
const checkRights =
  'Check MEDIA_ACCESS_KEY_ID, and that it may list the bucket and read, write and remove the files in it.'

const adviceOfCode: Record<string, string> = {
  NoSuchBucket: 'Make the bucket, or give the group the name of one that exists.',
  InvalidAccessKeyId: checkKeys,
  SignatureDoesNotMatch: checkKeys,
  AccessDenied: checkRights,
  AuthorizationHeaderMalformed: checkRegion,
  PermanentRedirect: checkRegion,
  TemporaryRedirect: checkRegion,
  IllegalLocationConstraintException: checkRegion,
  RequestTimeTooSkewed: 'Set the clock of this machine.',
}

function adviceOf(status: number, s3Code: string): string {
  if (Object.hasOwn(adviceOfCode, s3Code)) return adviceOfCode[s3Code] ?? ''
  if (status === 429 || (status >= 500 && status !== 501)) return 'Try again in a moment.'
  if (status === 401 || status === 403) return checkRights
  return 'Check MEDIA_URL, and that the store speaks S3.'
}

/** The store answered, and not with success. */
export function refused(wish: S3Wish, status: number, body: string): S3Failure {
  const given = readElement(body, 'Code') ?? ''
  const s3Code = /^[\w.-]{1,64}$/.test(given) ? given : undefined
  const why = `the store answered HTTP ${status}${s3Code ? `, ${s3Code}` : ''}`
  return new S3Failure(wish, why, adviceOf(status, s3Code ?? ''), {
    s3Code,
    httpStatus: status,
    mayPass: status === 429 || (status >= 500 && status !== 501),
  })
}

/** The connection broke, or what came through it cannot be understood. */
export function broken(wish: S3Wish, error: unknown): S3Failure {
  const { cause, message } = error as Error
  const code = (cause as NodeJS.ErrnoException | undefined)?.code
  const isDistrusted = certificateFailure(cause) !== undefined
  // The sentences of `fetch` may quote a header.
  const why = code ?? (error instanceof TypeError ? 'no answer' : message)
  return new S3Failure(
    wish,
    `the connection to the store failed (${why})`,
    isDistrusted
      ? 'Its certificate is not trusted: for a private CA, name the certificate of the CA in NODE_EXTRA_CA_CERTS.'
      : 'Check MEDIA_URL, and that the store can be reached.',
    { mayPass: !isDistrusted },
  )
}
