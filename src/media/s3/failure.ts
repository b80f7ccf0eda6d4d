import { AppError, certificateFailure } from '../../core/errors.ts'
import { isTransientStatus } from './retry.ts'
import { readElement } from './xml.ts'

/** `operation` completes the sentence "It was not possible to …". */
export interface S3Operation {
  operation: string
  bucketName: string
}

interface S3FailureOptions {
  s3Code?: string | undefined
  httpStatus?: number
  isTransient: boolean
}

/** The store refused or did not respond. Never contains a URL, a header or a key. */
export class S3Failure extends AppError {
  /** S3's error code, where the response has one. */
  readonly s3Code: string | undefined
  /** Undefined without a response. */
  readonly httpStatus: number | undefined
  /** Whether the same request may succeed a moment later. */
  readonly isTransient: boolean

  constructor({ operation, bucketName }: S3Operation, why: string, advice: string, options: S3FailureOptions) {
    super(
      'Unavailable',
      `It was not possible to ${operation} in the bucket "${bucketName}": ${why}. ${advice}`,
      { retryAfterSeconds: options.isTransient ? 5 : 60 }, // otherwise an operator has to fix it first
    )
    this.s3Code = options.s3Code
    this.httpStatus = options.httpStatus
    this.isTransient = options.isTransient
  }
}

const checkKeys = 'Check MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY.'
const checkRegion = 'Check the endpoint and the region in MEDIA_URL.'
const checkRights =
  'Check MEDIA_ACCESS_KEY_ID, and that it may list the bucket and read, write and remove the files in it.'

const adviceOfCode: Record<string, string> = {
  NoSuchBucket: 'Create the bucket, or give the group the name of an existing one.',
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
  if (isTransientStatus(status)) return 'Try again in a moment.'
  if (status === 401 || status === 403) return checkRights
  return 'Check MEDIA_URL, and that the store speaks S3.'
}

/** The store responded with an error. */
export function responseFailure(operation: S3Operation, status: number, body: string): S3Failure {
  const given = readElement(body, 'Code') ?? ''
  const s3Code = /^[\w.-]{1,64}$/.test(given) ? given : undefined
  const why = `the store answered HTTP ${status}${s3Code ? `, ${s3Code}` : ''}`
  return new S3Failure(operation, why, adviceOf(status, s3Code ?? ''), {
    s3Code,
    httpStatus: status,
    isTransient: isTransientStatus(status),
  })
}

/** The connection broke, or the response makes no sense. */
export function connectionFailure(operation: S3Operation, error: unknown): S3Failure {
  const { cause, message } = error as Error
  const code = (cause as NodeJS.ErrnoException | undefined)?.code
  const isDistrusted = certificateFailure(cause) !== undefined
  // Messages of `fetch` may quote a header.
  const why = code ?? (error instanceof TypeError ? 'no answer' : message)
  return new S3Failure(
    operation,
    `the connection to the store failed (${why})`,
    isDistrusted
      ? 'Its certificate is not trusted: for a private CA, name the certificate of the CA in NODE_EXTRA_CA_CERTS.'
      : 'Check MEDIA_URL, and that the store can be reached.',
    { isTransient: !isDistrusted },
  )
}
