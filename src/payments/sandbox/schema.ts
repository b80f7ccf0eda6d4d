/** The part of JSON schema in which the SDK's parameters are described; see `scripts/derive-stripe-parameters.ts`. */
export type Schema =
  | { const: '' }
  | { anyOf: Schema[] }
  | { type: 'string'; enum?: string[]; format?: 'decimal' }
  | { type: 'boolean' | 'integer' | 'number' }
  | { type: 'array'; items: Schema }
  | { type: 'object'; properties: Record<string, Schema>; required?: string[]; additionalProperties: false }
  | { type: 'object'; additionalProperties: Schema }
