import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError, type ErrorCode, statusOfCode } from '../../src/core/errors.ts'

describe('failures', () => {
  it('have one status for each code', () => {
    assert.deepEqual(statusOfCode, {
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
    })
    for (const code of Object.keys(statusOfCode) as ErrorCode[]) {
      assert.equal(new AppError(code, 'x').status, statusOfCode[code])
    }
  })
})
