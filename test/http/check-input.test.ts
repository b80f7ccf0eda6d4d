import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type } from '../../src/core/type.ts'
import { checkInput, withRule } from '../../src/http/check-input.ts'

const name = withRule(
  withRule(Type.String({ minLength: 1, maxLength: 5 }), 'must begin with a', (text) => text.startsWith('a')),
  'must end with z',
  (text) => text.endsWith('z'),
)
const schema = withRule(
  Type.Object({ name: Type.Optional(name), inner: Type.Optional(Type.Object({ name })), count: Type.Integer() }),
  'name or inner is required',
  (input) => 'name' in input || 'inner' in input,
)

const refused = (input: unknown, message: string): void =>
  assert.throws(() => checkInput(schema, input), { code: 'ValidationError', message })

describe('a rule that JSON Schema cannot state', () => {
  it('is no part of the schema as JSON', () => {
    assert.deepEqual(JSON.parse(JSON.stringify(name)), { type: 'string', minLength: 1, maxLength: 5 })
  })

  it('accepts valid input', () => {
    const input = { name: 'az', inner: { name: 'abz' }, count: 1 }
    assert.equal(checkInput(schema, input), input)
  })

  it('is checked for the input and its nested fields, each by all its rules', () => {
    refused({ name: 'b', count: 1 }, 'name must begin with a; name must end with z.')
    refused({ inner: { name: 'a' }, count: 1 }, 'inner.name must end with z.')
    refused({}, 'count is required; name or inner is required.')
  })

  it('is not checked for a value that is invalid for another reason', () => {
    refused({ name: 1, count: 1 }, 'name must be a text.')
    refused({ name: '', count: 1 }, 'name must not be empty.')
    refused({ inner: 'b', count: 1 }, 'inner must be an object.')
    refused(['az'], 'The input must be an object.')
  })
})
