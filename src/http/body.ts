import type { FastifySchemaCompiler } from 'fastify'
import type { TObject } from 'typebox'
import { invalid } from '../core/errors.ts'
import { checkInput } from './check-input.ts'

/** A body by the schema that also documents it. Keys that the schema does not know are left alone, and read by nobody. */
function readBody(schema: TObject, body: unknown): object {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('The body must be a JSON object.')
  return checkInput(schema, body)
}

export const compileBody: FastifySchemaCompiler<TObject> = ({ schema }) => {
  return (body: unknown) => {
    try {
      return { value: readBody(schema, body) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}
