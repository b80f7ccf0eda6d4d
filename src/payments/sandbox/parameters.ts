import type Stripe from 'stripe'
import type { Form, FormValue } from './form.ts'
import type { Sent } from './objects.ts'
import derived from './parameters.json' with { type: 'json' }
import type { played } from './played.ts'
import { notInSandbox, Refusal, refuse } from './refusal.ts'

/**
 * The part of JSON schema in which the SDK's parameters are described; see `scripts/derive-stripe-parameters.ts`.
 * `{}` is a parameter that exists, and is not played.
 */
export type Schema =
  | { type?: never }
  | { const: '' }
  | { anyOf: Schema[] }
  | { type: 'string'; enum?: string[]; format?: 'decimal' }
  | { type: 'boolean' | 'integer' }
  | { type: 'array'; items: Schema }
  | { type: 'object'; properties: Record<string, Schema>; required?: string[]; additionalProperties: false }
  | { type: 'object'; additionalProperties: Schema }

/** The types from which the schemas were derived. */
interface SdkTypes {
  AccountRetrieveParams: Stripe.AccountRetrieveParams
  ProductListParams: Stripe.ProductListParams
  ProductRetrieveParams: Stripe.ProductRetrieveParams
  ProductCreateParams: Stripe.ProductCreateParams
  ProductUpdateParams: Stripe.ProductUpdateParams
  ProductDeleteParams: Stripe.ProductDeleteParams
  PriceListParams: Stripe.PriceListParams
  PriceRetrieveParams: Stripe.PriceRetrieveParams
  PriceCreateParams: Stripe.PriceCreateParams
  PriceUpdateParams: Stripe.PriceUpdateParams
  SessionListParams: Stripe.Checkout.SessionListParams
  SessionRetrieveParams: Stripe.Checkout.SessionRetrieveParams
  SessionCreateParams: Stripe.Checkout.SessionCreateParams
  SessionListLineItemsParams: Stripe.Checkout.SessionListLineItemsParams
  EventListParams: Stripe.EventListParams
  WebhookEndpointCreateParams: Stripe.WebhookEndpointCreateParams
  WebhookEndpointDeleteParams: Stripe.WebhookEndpointDeleteParams
}

type FirstName<Path> = Path extends `${infer Name}.${string}` ? Name : Path

/** What was held against a schema is of its type, and has only what is played. */
export type ParameterTypes = {
  [Call in keyof SdkTypes]: Sent<
    Pick<SdkTypes[Call], Extract<keyof SdkTypes[Call], FirstName<(typeof played)[Call][number]>>>
  >
}

const schemas = derived as Record<keyof ParameterTypes, Schema> // its own script wrote it

/** Reads a form as the parameters of a call. Everything in a form is text; the schema says what it means. */
export function readParameters<Name extends keyof ParameterTypes>(name: Name, form: Form): ParameterTypes[Name] {
  return read(schemas[name], form, '') as ParameterTypes[Name]
}

function read(schema: Schema, value: FormValue, at: string): unknown {
  if ('const' in schema) return value === '' ? null : reject(at, value)
  if ('anyOf' in schema) return readAny(schema.anyOf, value, at)
  if (schema.type === undefined) throw notInSandbox(at)
  if (schema.type === 'object') return readObject(schema, value, at)
  if (schema.type === 'array') return readArray(schema.items, value, at)
  if (typeof value !== 'string') throw refuse(at, `Invalid ${schema.type}`)
  if (value === '') throw cannotBeEmpty(at)
  switch (schema.type) {
    case 'boolean':
      return value === 'true' || (value === 'false' ? false : reject(at, value, 'boolean'))
    case 'integer':
      return /^-?\d{1,15}$/.test(value) ? Number(value) : reject(at, value, 'integer', 'parameter_invalid_integer')
    case 'string':
      if (schema.format === 'decimal' && !isDecimal(value)) reject(at, value, 'decimal')
      if (schema.enum && !schema.enum.includes(value))
        throw refuse(at, `Invalid ${at}: must be one of ${schema.enum.join(', ')}`)
      return value
  }
}

const isDecimal = (text: string): boolean => /^-?\d{1,15}(\.\d{1,12})?$/.test(text)

function reject(at: string, value: FormValue, what = 'value', code?: string): never {
  throw refuse(at, typeof value === 'string' ? `Invalid ${what}: ${value}` : `Invalid ${what}`, code)
}

const cannotBeEmpty = (at: string): Refusal =>
  refuse(at, `You passed an empty string for '${at}', which cannot be unset.`, 'parameter_invalid_empty')

/** The first that takes it. Where none does, the last says why: the ones before it are exceptions. */
function readAny(alternatives: readonly Schema[], value: FormValue, at: string): unknown {
  let refusal: Refusal | undefined
  for (const schema of alternatives) {
    try {
      return read(schema, value, at)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      refusal = error
    }
  }
  throw refusal ?? new Error('A schema without alternatives takes nothing.')
}

const inside = (at: string, name: string): string => (at === '' ? name : `${at}[${name}]`)

function readObject(schema: Extract<Schema, { type: 'object' }>, value: FormValue, at: string): object {
  if (typeof value === 'string') throw refuse(at, 'Invalid hash')
  const properties = 'properties' in schema ? schema.properties : {}
  const schemaOf = (name: string): Schema | undefined =>
    schema.additionalProperties || (Object.hasOwn(properties, name) ? properties[name] : undefined)
  for (const name of ('required' in schema && schema.required) || []) {
    if (!(name in value))
      throw refuse(inside(at, name), `Missing required param: ${inside(at, name)}.`, 'parameter_missing')
  }
  const entries = Object.entries(value).map(([name, given]) => {
    const known = schemaOf(name)
    if (!known) throw refuse(inside(at, name), `Received unknown parameter: ${inside(at, name)}`, 'parameter_unknown')
    return [name, read(known, given, inside(at, name))]
  })
  return Object.fromEntries(entries)
}

function readArray(items: Schema, value: FormValue, at: string): unknown[] {
  if (typeof value === 'string' || Object.keys(value).some((key) => !/^\d{1,5}$/.test(key)))
    throw refuse(at, 'Invalid array')
  const inOrder = Object.entries(value).sort(([one], [other]) => Number(one) - Number(other))
  return inOrder.map(([index, item]) => read(items, item, inside(at, index)))
}
