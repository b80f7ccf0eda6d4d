import { pictureOf } from '../../content/catalogue.ts'
import type { MediaReference } from '../../content/media-uses.ts'
import type { Container } from '../../content/model.ts'
import { type Editable, mergeEdits } from '../../content/product-edits.ts'
import type { Member } from '../../content/product-offers.ts'
import { fitValue, productSchema, widenSchema } from '../../content/product-schema.ts'
import { fewProblems, projectProduct } from '../../content/products.ts'
import type { Field, Schema } from '../../content/schema.ts'
import { createIdMaker } from '../../core/ids.ts'
import { findMembers } from '../../store/commerce/catalogue.ts'
import type { Integration } from '../../store/commerce/integrations.ts'
import {
  findMirroredObjects,
  findPictures,
  type KnownPicture,
  type MirroredObject,
  type NewOrigin,
  upsertOrigins,
} from '../../store/commerce/mirror.ts'
import { changeObjects, type ObjectChange, type PlannedChange } from '../../store/content/change-objects.ts'
import { addFields, changeSchema } from '../../store/content/change-schema.ts'
import type { ContentWriter } from '../../store/content/changes.ts'
import { findIntegration, insertContainer } from '../../store/content/containers.ts'
import { insertObjects, type NewObject } from '../../store/content/objects.ts'
import { schemaText } from '../../store/content/stored-schema.ts'
import { insertJob } from '../../store/jobs/jobs.ts'
import { pictureJob } from '../jobs.ts'

/** The effects on our products. */
export interface Tally {
  added: number
  changed: number
  archived: number
  /** Messages about what could not be imported. */
  problems: string[]
}

export const nothingDone: Tally = { added: 0, changed: 0, archived: 0, problems: [] }

/** One of our products, as built from the current catalogue. */
interface Draft {
  key: string
  /** Undefined if nothing is on sale. */
  value: Record<string, unknown> | undefined
  problems: string[]
  /** Pictures not fetched yet. */
  missingUrls: string[]
  createdMs: number
}

/** Rebuilds our products from the mirrored catalogue; unchanged ones are not written. */
export async function rebuildObjects(
  given: ContentWriter,
  integration: Integration,
  keys: readonly string[],
): Promise<Tally> {
  // The provider's description may refer to a file that we do not have.
  const writer: ContentWriter = { ...given, allowsMissing: true }
  const drafts = await draftProducts(writer, integration, keys)
  const values = drafts.map(({ value }) => value).filter((value) => value !== undefined)
  const container = await ensureContainer(writer, integration.type, values)
  if (!container) return { ...nothingDone, problems: drafts.flatMap(({ problems }) => problems) }
  const fitted = drafts.map((draft) => fitDraft(container, writer.group.groupId, draft))
  const { id: containerId } = container
  const before = await findMirroredObjects(
    writer.group,
    { containerId, accountHandle: integration.accountHandle },
    keys,
  )
  const fresh = fitted.filter(({ key }) => !before.has(key))
  const added = await addProducts(writer, container, integration, fresh)
  const updates = fitted.flatMap((draft) => planUpdate(draft, before.get(draft.key)) ?? [])
  const changes = await changeProducts(writer, container, integration, updates)
  const urls = new Set(fitted.flatMap(({ value, missingUrls }) => (value ? missingUrls : [])))
  for (const url of urls) await insertJob(writer, pictureJob(integration.id, url))
  return { added, ...changes, problems: fitted.flatMap(({ problems }) => problems) }
}

async function draftProducts({ group }: ContentWriter, { id }: Integration, keys: readonly string[]): Promise<Draft[]> {
  const members = await findMembers(group, id, keys)
  const urls = [...members.values()].flat().flatMap(({ product }) => pictureOf(product) ?? [])
  const pictures = await findPictures(group, urls)
  const media = new Map([...pictures].flatMap(([url, picture]) => (picture.media ? [[url, picture.media]] : [])))
  return keys.map((key) => draftProduct(key, members.get(key) ?? [], pictures, media))
}

function draftProduct(
  key: string,
  members: readonly Member[],
  pictures: ReadonlyMap<string, KnownPicture>,
  media: ReadonlyMap<string, MediaReference>,
): Draft {
  const { value, problems, imageUrls } = projectProduct(members, media)
  const refused = imageUrls.flatMap((url) => pictures.get(url)?.problem ?? [])
  return {
    key,
    value,
    problems: fewProblems([...problems, ...refused.map((problem) => `A picture could not be imported: ${problem}`)]),
    missingUrls: imageUrls.filter((url) => !pictures.has(url)),
    createdMs: Math.min(...members.map(({ product }) => product.createdMs)),
  }
}

/** The container for the products of all accounts of a type, with its schema extended to fit them. */
async function ensureContainer(
  writer: ContentWriter,
  type: string,
  values: readonly Record<string, unknown>[],
): Promise<Container | undefined> {
  const found = await findIntegration(writer.group, type)
  const schema = widenSchema(found?.schema ?? productSchema, values)
  if (found && schemaText(schema) === schemaText(found.schema)) return found
  if (found) return changeProductSchema(writer, found, schema)
  return values.length === 0 ? undefined : insertContainer(writer, { kind: 'integration', name: type, schema })
}

/** New metadata names are frequent, so only adding fields must be cheap. */
async function changeProductSchema(writer: ContentWriter, found: Container, schema: Schema): Promise<Container> {
  const isSame = ([name, field]: [string, Field]): boolean => schema.get(name) === field
  const added = new Map([...schema].filter(([name]) => !found.schema.has(name)))
  if ([...found.schema].every(isSame)) return addFields(writer, found, added)
  const change = { schema, renames: {}, defaults: {} }
  return (await changeSchema(writer, found, change, { allowLoss: false })).container
}

function fitDraft({ schema }: Container, groupId: string, draft: Draft): Draft {
  if (!draft.value) return draft
  const { value, problems } = fitValue(schema, groupId, draft.value, draft.key)
  return { ...draft, value, problems: fewProblems([...draft.problems, ...problems]) }
}

const editableOf = (archived: boolean, value: Record<string, unknown>): Editable => ({
  archived,
  productType: value.productType ?? null,
  productImage: value.productImage ?? null,
})

/** The provider lists the newest first, even within a second. */
const inOrderOfCreation = (drafts: readonly Draft[]): Draft[] =>
  drafts.toReversed().sort((one, other) => one.createdMs - other.createdMs)

/** Ids contain the time of creation, so that lists have the products in the order in which the provider created them. */
function idMakerAt(): (createdMs: number) => string {
  let atMs = 0
  const makeId = createIdMaker(() => atMs)
  return (createdMs) => {
    atMs = createdMs
    return makeId()
  }
}

/** A new product that is not on sale is not added. */
async function addProducts(
  writer: ContentWriter,
  container: Container,
  { id, accountHandle }: Integration,
  drafts: readonly Draft[],
): Promise<number> {
  const makeIdAt = idMakerAt()
  const inputs = inOrderOfCreation(drafts).flatMap(({ key, value, createdMs }): NewObject[] =>
    value ? [{ id: makeIdAt(createdMs), value, externalId: key, accountHandle, createdMs }] : [],
  )
  const objects = await insertObjects(writer, container, inputs)
  const origins = objects.map(
    ({ id: objectId, value }): NewOrigin => ({
      objectId,
      origin: { provider: editableOf(false, value), edited: {} },
    }),
  )
  await upsertOrigins(writer, id, origins)
  return objects.length
}

interface Update {
  planned: PlannedChange
  /** Undefined if unchanged. */
  origin: NewOrigin | undefined
}

/** A product no longer on sale keeps its last value. */
function planUpdate({ value }: Draft, before: MirroredObject | undefined): Update | undefined {
  if (!before) return undefined
  const { object } = before
  const current = editableOf(object.archived, object.value)
  const provider = value ? editableOf(false, value) : { ...(before.origin?.provider ?? current), archived: true }
  const { origin, archived, productType, productImage } = mergeEdits(before.origin, current, provider)
  const wanted: ObjectChange = { archived, ...(value && { value: withEdits(value, { productType, productImage }) }) }
  const isKnown = JSON.stringify(before.origin) === JSON.stringify(origin)
  return {
    planned: { before: object, wanted },
    origin: isKnown ? undefined : { objectId: object.id, origin },
  }
}

const withEdits = (value: Record<string, unknown>, edits: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries({ ...value, ...edits }).filter(([, item]) => item !== null))

async function changeProducts(
  writer: ContentWriter,
  container: Container,
  { id }: Integration,
  updates: readonly Update[],
): Promise<Pick<Tally, 'changed' | 'archived'>> {
  const planned = updates.map((update) => update.planned)
  const after = await changeObjects(writer, container, planned, 'catalogue')
  const origins = updates.map(({ origin }) => origin).filter((origin) => origin !== undefined)
  await upsertOrigins(writer, id, origins)
  const changed = planned.filter(({ before }, position) => after[position]?.version !== before.version)
  const archived = changed.filter(({ before, wanted }) => wanted.archived && !before.archived).length
  return { changed: changed.length - archived, archived }
}
