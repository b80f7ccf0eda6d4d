export interface SluiceErrorDetails {
  code: string
  status?: number | undefined
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

/** What every call rejects with, whatever went wrong. */
export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  /** The HTTP status; 0 when no answer came. */
  readonly status: number
  /**
   * The service's stable name for the failure, such as `NotFound`. The client's own names, for failures that the
   * service did not name: `NetworkError`, `Timeout`, `Aborted`, `InvalidResponse`, `InvalidArgument`, `Unknown`.
   */
  readonly code: string
  /** Quote it to whoever runs the service: it leads to the log line. */
  readonly requestId: string | undefined
  /** How long the service asked to wait. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, { code, status = 0, requestId, retryAfterSeconds, cause }: SluiceErrorDetails) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
  }
}
