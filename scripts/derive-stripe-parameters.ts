import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { API, type Checker, SymbolFlags, type Type, TypeFlags } from 'typescript/unstable/sync'
import type { Schema } from '../src/payments/sandbox/schema.ts'

/**
 * Says what the payment provider's SDK takes as parameters, as JSON schemas made from the SDK's own types. The sandbox
 * holds requests against them. With `--write` the file is made anew.
 */
const root = join(import.meta.dirname, '..')
const resources = join(root, 'node_modules/stripe/esm/resources')
export const parametersFile = join(root, 'src/payments/sandbox/parameters.json')

/** Which types, by the file of the SDK that declares them. Those of checkout lie in a namespace. */
const wanted: Record<string, readonly string[]> = {
  'Accounts.d.ts': ['AccountRetrieveParams'],
  'Products.d.ts': [
    'ProductListParams',
    'ProductRetrieveParams',
    'ProductCreateParams',
    'ProductUpdateParams',
    'ProductDeleteParams',
  ],
  'Prices.d.ts': ['PriceListParams', 'PriceRetrieveParams', 'PriceCreateParams', 'PriceUpdateParams'],
  'Checkout/Sessions.d.ts': [
    'Checkout.SessionListParams',
    'Checkout.SessionRetrieveParams',
    'Checkout.SessionCreateParams',
    'Checkout.SessionExpireParams',
    'Checkout.SessionListLineItemsParams',
  ],
  'Events.d.ts': ['EventListParams', 'EventRetrieveParams'],
  'WebhookEndpoints.d.ts': ['WebhookEndpointListParams', 'WebhookEndpointCreateParams', 'WebhookEndpointDeleteParams'],
}

/** The types say `number` for all numbers; these are the ones of which parts are taken. */
const fractions = ['height', 'length', 'weight', 'width', 'application_fee_percent', 'amount_percent']

function numberSchema(name: string): Schema {
  return { type: fractions.includes(name) ? 'number' : 'integer' }
}

function unionSchema(checker: Checker, types: readonly Type[], name: string): Schema {
  const given = types.filter(({ flags }) => !(flags & (TypeFlags.Null | TypeFlags.Undefined)))
  const literals = given.filter((type) => type.isStringLiteralType()).map(({ value }) => value)
  const words = literals.filter((word) => word !== '')
  // Next to known words, other strings stand for those that are yet to come: of them nobody knows any.
  const others = given.filter(
    (type) =>
      !type.isStringLiteralType() &&
      !(type.flags & TypeFlags.BooleanLiteral) &&
      !(words.length > 0 && type.isIntersectionType()),
  )
  const alternatives: Schema[] = [
    ...(words.length > 0 ? [{ type: 'string', enum: words } as const] : []),
    ...(given.some(({ flags }) => flags & TypeFlags.BooleanLiteral) ? [{ type: 'boolean' } as const] : []),
    ...others.map((type) => schemaOf(checker, type, name)),
  ]
  const emptyable = literals.length > words.length || types.some(({ flags }) => flags & TypeFlags.Null)
  if (emptyable) alternatives.unshift({ const: '' })
  const [only] = alternatives
  return alternatives.length === 1 && only ? only : { anyOf: alternatives }
}

function objectSchema(checker: Checker, type: Type): Schema {
  const [index] = checker.getIndexInfosOfType(type)
  if (index) return { type: 'object', additionalProperties: schemaOf(checker, index.valueType, '') }
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  for (const property of checker.getPropertiesOfType(type)) {
    const { name } = property
    const propertyType = checker.getTypeOfSymbol(property)
    if (!propertyType) throw new Error(`${name} has no type.`)
    properties[name] = schemaOf(checker, propertyType, name)
    if (!(property.flags & SymbolFlags.Optional)) required.push(name)
  }
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
}

function schemaOf(checker: Checker, type: Type, name: string): Schema {
  if (type.getAliasSymbol()?.name === 'Decimal') return { type: 'string', format: 'decimal' }
  if (type.flags & TypeFlags.Boolean) return { type: 'boolean' }
  if (type.isUnionType()) return unionSchema(checker, type.getTypes(), name)
  if (type.isStringLiteralType()) return { type: 'string', enum: [type.value] }
  if (type.flags & TypeFlags.String) return { type: 'string' }
  if (type.flags & TypeFlags.Number) return numberSchema(name)
  if (type.isTypeReference() && checker.isArrayType(type)) {
    const [item] = checker.getTypeArguments(type)
    if (item) return { type: 'array', items: schemaOf(checker, item, name) }
  }
  if (type.isObjectType()) return objectSchema(checker, type)
  throw new Error(`${name}: nobody said how to describe ${checker.typeToString(type)}.`)
}

/** Made from the SDK that is installed. */
export function deriveParameters(): Record<string, Schema> {
  const api = new API({ cwd: root })
  try {
    const config = join(root, 'tsconfig.json')
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
    if (!project) throw new Error('The project cannot be opened.')
    const { checker, program } = project
    const derived: Record<string, Schema> = {}
    for (const [file, names] of Object.entries(wanted)) {
      const source = program.getSourceFile(join(resources, file))
      const module = source && checker.getSymbolAtLocation(source)
      if (!module) throw new Error(`The SDK has no ${file}.`)
      for (const path of names) {
        const symbol = path.split('.').reduce((holder, name) => {
          const found = [...holder.getExports().values()].find((exported) => exported.name === name)
          if (!found) throw new Error(`${file} has no ${path}.`)
          return found
        }, module)
        derived[symbol.name] = schemaOf(checker, checker.getDeclaredTypeOfSymbol(symbol), path)
      }
    }
    return derived
  } finally {
    api.close()
  }
}

/** As the formatter wants it. */
function formatted(value: unknown): string {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [biome, 'format', `--stdin-file-path=${parametersFile}`],
    { input: JSON.stringify(value), encoding: 'utf8', cwd: root },
  )
  if (status !== 0) throw new Error(stderr)
  return stdout
}

if (process.argv.includes('--write')) writeFileSync(parametersFile, formatted(deriveParameters()))
