import type { Failure, Success } from '../../client/src/wire.ts'
import type { ErrorCode } from './errors.ts'

export const ok = <Data>(data: Data): Success<Data> => ({ success: true, data, error: null })

/** The same for data that is already JSON text. */
export const okJson = (data: string): string => `{"success":true,"data":${data},"error":null}`

export const fail = (code: ErrorCode, message: string, details?: object): Failure & { details?: object } => ({
  success: false,
  data: null,
  error: message,
  code,
  ...(details && { details }),
})
