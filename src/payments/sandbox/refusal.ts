/** What the sandbox does not do, told in the provider's form. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly details: RefusalDetails

  constructor(status: number, message: string, details: Partial<RefusalDetails> = {}) {
    super(message)
    this.status = status
    this.details = { type: 'invalid_request_error', ...details }
  }
}

export interface RefusalDetails {
  type: 'invalid_request_error' | 'idempotency_error' | 'api_error'
  code?: string
  param?: string
}

/** Of something that a request says. */
export const refuse = (param: string, message: string, code?: string): Refusal =>
  new Refusal(400, message, { param, ...(code !== undefined && { code }) })

/** Of something that the address names. */
export const noSuch = (what: string, id: string, param = 'id', status = 404): Refusal =>
  new Refusal(status, `No such ${what}: '${id}'`, { code: 'resource_missing', param })

/** Of what the provider can do and its stand-in cannot: better said than done otherwise. */
export const notInSandbox = (param: string): Refusal => refuse(param, `The sandbox does not know ${param}.`)
