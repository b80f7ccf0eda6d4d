export interface SluiceErrorDetails {
  code: string
  status?: number | undefined
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

/** The error with which every failed call rejects. */
export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  /** The HTTP status; 0 without an answer. */
  readonly status: number
  /**
   * The service's stable name for the failure, such as `NotFound`. The client's own names, for failures that the
   * service did not name: `NetworkError`, `Timeout`, `Aborted`, `InvalidResponse`, `InvalidArgument`, `Unknown`.
   */
  readonly code: string
  /** Identifies the log line; quote it to the operator of the service. */
  readonly requestId: string | undefined
  /** The requested wait before a retry. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, { code, status = 0, requestId, retryAfterSeconds, cause }: SluiceErrorDetails) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
  }
}
