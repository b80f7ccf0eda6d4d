/** The codes of all failures that a caller can see, with their HTTP status. */
export const statusOfCode = {
  ValidationError: 400,
  GroupFrozen: 400,
  IntegrationNotActive: 400,
  Unauthorized: 401,
  Forbidden: 403,
  OriginNotAllowed: 403,
  RecipientNotAllowed: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  RequestTimeout: 408,
  Conflict: 409,
  ProductUnavailable: 409,
  PreviewExpired: 410,
  PreconditionFailed: 412,
  PayloadTooLarge: 413,
  QuotaExceeded: 413,
  UriTooLong: 414,
  UnsupportedMediaType: 415,
  RangeNotSatisfiable: 416,
  IdempotencyMismatch: 422,
  RateLimited: 429,
  HeadersTooLarge: 431,
  InternalError: 500,
  ProviderError: 502,
  Unavailable: 503,
} as const

export type ErrorCode = keyof typeof statusOfCode

/** A failure whose message may be shown to the caller. Any other error becomes `InternalError`. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  /** For `Retry-After`, if trying again later makes sense. */
  readonly retryAfterSeconds: number | undefined
  /** Machine-readable details, such as both values of a conflict. The delivery API has none. */
  readonly details: object | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number; details?: object } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
    this.details = options.details
  }

  get status(): number {
    return statusOfCode[this.code]
  }
}

export const internalErrorMessage =
  'Something went wrong on our side. Quote the X-Request-Id header when you report it.'

export const invalid = (message: string): AppError => new AppError('ValidationError', message)

export const notFound = (message: string): AppError => new AppError('NotFound', message)

export const conflict = (message: string, details?: object): AppError =>
  new AppError('Conflict', message, details && { details })

/** Error codes of Node and OpenSSL for certificates. */
const certificateCodes = /CERT|SIGNATURE|ISSUER|INVALID_CA|HOSTNAME_MISMATCH/

/** The code of a failure caused by the peer's certificate; undefined for any other failure. */
export function certificateFailure(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return certificateCodes.test(error.code) ? error.code : undefined
}
