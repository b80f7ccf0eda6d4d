import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { API, type Checker, type Project, SymbolFlags, type Type, TypeFlags } from 'typescript/unstable/sync'
import type { Schema } from '../src/payments/sandbox/parameters.ts'
import { played } from '../src/payments/sandbox/played.ts'

/**
 * Says what the payment provider's SDK takes as parameters, as JSON schemas made from the SDK's own types. The sandbox
 * holds requests against them. Of what it does not play only the names are there. With `--write` the file is made anew.
 */
const root = join(import.meta.dirname, '..')
const resources = join(root, 'node_modules/stripe/esm/resources')
export const parametersFile = join(root, 'src/payments/sandbox/parameters.json')

/** Where the SDK declares the parameters of what they begin with. Those of checkout lie in a namespace. */
const declarations: Record<string, { file: string; namespace?: string }> = {
  Account: { file: 'Accounts.d.ts' },
  Product: { file: 'Products.d.ts' },
  Price: { file: 'Prices.d.ts' },
  Session: { file: 'Checkout/Sessions.d.ts', namespace: 'Checkout' },
  Event: { file: 'Events.d.ts' },
  WebhookEndpoint: { file: 'WebhookEndpoints.d.ts' },
}

/** A parameter on its way from the type of a call, such as `line_items.price`, and what of them is played. */
interface Place {
  path: string
  played: readonly string[]
}

const inside = ({ path, played }: Place, name: string): Place => ({
  path: path === '' ? name : `${path}.${name}`,
  played,
})

/** Also where only a part of it is played. */
const isPlayed = ({ path, played }: Place): boolean =>
  played.some((each) => `${path}.`.startsWith(`${each}.`) || each.startsWith(`${path}.`))

function unionSchema(checker: Checker, types: readonly Type[], place: Place): Schema {
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
    ...others.map((type) => schemaOf(checker, type, place)),
  ]
  const emptyable = literals.length > words.length || types.some(({ flags }) => flags & TypeFlags.Null)
  if (emptyable) alternatives.unshift({ const: '' })
  const [only] = alternatives
  return alternatives.length === 1 && only ? only : { anyOf: alternatives }
}

function objectSchema(checker: Checker, type: Type, place: Place): Schema {
  const [index] = checker.getIndexInfosOfType(type)
  if (index) return { type: 'object', additionalProperties: schemaOf(checker, index.valueType, place) }
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  for (const property of checker.getPropertiesOfType(type)) {
    const { name } = property
    const propertyType = checker.getTypeOfSymbol(property)
    if (!propertyType) throw new Error(`${name} has no type.`)
    const inner = inside(place, name)
    properties[name] = isPlayed(inner) ? schemaOf(checker, propertyType, inner) : {}
    if (!(property.flags & SymbolFlags.Optional)) required.push(name)
  }
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
}

function schemaOf(checker: Checker, type: Type, place: Place): Schema {
  if (type.getAliasSymbol()?.name === 'Decimal') return { type: 'string', format: 'decimal' }
  if (type.flags & TypeFlags.Boolean) return { type: 'boolean' }
  if (type.isUnionType()) return unionSchema(checker, type.getTypes(), place)
  if (type.isStringLiteralType()) return { type: 'string', enum: [type.value] }
  if (type.flags & TypeFlags.String) return { type: 'string' }
  if (type.flags & TypeFlags.Number) return { type: 'integer' } // none of the played ones takes parts
  if (type.isTypeReference() && checker.isArrayType(type)) {
    const [item] = checker.getTypeArguments(type)
    if (item) return { type: 'array', items: schemaOf(checker, item, place) }
  }
  if (type.isObjectType()) return objectSchema(checker, type, place)
  throw new Error(`${place.path}: nobody said how to describe ${checker.typeToString(type)}.`)
}

function typeCalled(name: string, { checker, program }: Project): Type {
  const [, place] = Object.entries(declarations).find(([start]) => name.startsWith(start)) ?? []
  if (!place) throw new Error(`Nobody said where ${name} is declared.`)
  const { file, namespace } = place
  const source = program.getSourceFile(join(resources, file))
  const module = source && checker.getSymbolAtLocation(source)
  if (!module) throw new Error(`The SDK has no ${file}.`)
  const symbol = [...(namespace ? [namespace] : []), name].reduce((holder, part) => {
    const found = [...holder.getExports().values()].find((exported) => exported.name === part)
    if (!found) throw new Error(`${file} has no ${part}.`)
    return found
  }, module)
  return checker.getDeclaredTypeOfSymbol(symbol)
}

/** Made from the SDK that is installed. */
export function deriveParameters(): Record<string, Schema> {
  const api = new API({ cwd: root })
  try {
    const config = join(root, 'tsconfig.json')
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
    if (!project) throw new Error('The project cannot be opened.')
    return Object.fromEntries(
      Object.entries(played).map(([name, paths]) => [
        name,
        objectSchema(project.checker, typeCalled(name, project), { path: '', played: paths }),
      ]),
    )
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
