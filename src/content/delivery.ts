import type { CollectionObject, IntegrationObject, MediaValue, SiteDetails, ValueBase } from '../../client/src/wire.ts'
import { replaceMediaInHtml } from './html-media.ts'
import { isMediaValue, type MediaReference, mapMedia, mapTexts } from './media-uses.ts'
import { type Container, type StoredObject, type StoredSite, unsetPublishMs } from './model.ts'
import { toIso } from './moments.ts'
import {
  type Field,
  isMedia,
  isNested,
  isRecord,
  isVariantMap,
  leafOf,
  mayHoldHtml,
  type NestedField,
  type Schema,
  schemaOfValue,
} from './schema.ts'
import { ownKeys } from './site-settings.ts'

export type CurrentFile = MediaValue['currentFile']

/**
 * Returns the URLs of one file; undefined if it is not the group's. Throws if it cannot sign. A text needs one URL, a
 * media value all of them.
 */
export type SignMedia = (key: string, isForText?: boolean) => CurrentFile | undefined

/** A media value is never delivered without a signed URL. */
function signed({ key }: MediaReference, sign: SignMedia): CurrentFile {
  const file = sign(key)
  if (!file) throw new Error(`The media key ${JSON.stringify(key)} does not belong to the group.`)
  return file
}

/** Signs every media value in a structure of any shape: single, in a list, in a variant map, deep inside settings. */
const signAll = (value: unknown, sign: SignMedia): unknown =>
  mapMedia(value, (media) => ({ ...media, currentFile: signed(media, sign) }))

function deliverField(field: Field, value: unknown, sign: SignMedia): unknown {
  const leaf = leafOf(field)
  if (isNested(leaf) && Array.isArray(value)) return value.map((item) => deliverNested(leaf, item, sign))
  if (isNested(leaf)) return deliverNested(leaf, value, sign)
  if (isMedia(leaf)) return signAll(value, sign)
  if (!mayHoldHtml(field)) return value
  return mapTexts(value, (html) => replaceMediaInHtml(html, (key) => sign(key, true)?.source))
}

/** One object or block. */
function deliverNested(field: NestedField, value: unknown, sign: SignMedia): Record<string, unknown> | null {
  const schema = isRecord(value) ? schemaOfValue(field, value) : undefined
  return isRecord(value) && schema ? deliverFields(schema, value, sign) : null
}

export type DeliverableObject = Omit<StoredObject, 'version' | 'review' | 'archiveMs'>

/** Only public fields of the schema are delivered, in the order in which they are stored. */
function deliverFields(schema: Schema, value: Record<string, unknown>, sign: SignMedia): Record<string, unknown> {
  const delivered: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value)) {
    const field = schema.get(name)
    if (field && !field.private && item !== undefined) delivered[name] = deliverField(field, item, sign)
  }
  return delivered
}

function deliverValue(schema: Schema, object: DeliverableObject, sign: SignMedia): Record<string, unknown> & ValueBase {
  const delivered = deliverFields(schema, object.value, sign)
  const mediaFields: Record<string, string> = {}
  for (const [name, item] of Object.entries(delivered)) {
    const field = schema.get(name)
    if (field && item !== null && isMedia(leafOf(field))) mediaFields[name] = leafOf(field).type
  }
  const _id = object.id
  return { ...{ _id }, ...delivered, _id, mediaFields }
}

function deliverState(object: DeliverableObject) {
  return {
    publishDate: object.publishMs === unsetPublishMs ? null : toIso(object.publishMs),
    archived: object.archived,
    createdAt: toIso(object.createdMs),
    updatedAt: toIso(object.updatedMs),
  }
}

/** `shown` are the fields to deliver. */
export function deliverCollectionObject(
  collection: Container,
  object: DeliverableObject,
  sign: SignMedia,
  shown: Schema = collection.schema,
): CollectionObject {
  return {
    _id: object.id,
    objectValue: deliverValue(shown, object, sign),
    collectionObj: { name: collection.name, refID: collection.id },
    ...deliverState(object),
  }
}

/** The first variant map among the fields, which distinguishes a product with variants from a simple one. */
function variantMapOf(schema: Schema, object: DeliverableObject): Record<string, unknown> | undefined {
  for (const [name, field] of schema) {
    const value = object.value[name]
    if (field.type === 'variant' && !field.private && isVariantMap(field, value)) return value
  }
  return undefined
}

/** `shown` are the fields to deliver. */
export function deliverIntegrationObject(
  integration: Container,
  object: DeliverableObject,
  sign: SignMedia,
  shown: Schema = integration.schema,
): IntegrationObject {
  const variants = variantMapOf(integration.schema, object)
  const variantName = integration.schema.get('variantName')?.private ? undefined : object.value.variantName
  return {
    _id: object.id,
    id: object.externalId ?? object.id,
    type: integration.name,
    platform: integration.name,
    accountHandle: object.accountHandle,
    objectValue: deliverValue(shown, object, sign) as IntegrationObject['objectValue'],
    ...(variants && {
      usingVariant: { name: typeof variantName === 'string' ? variantName : 'variant', values: Object.keys(variants) },
    }),
    ...deliverState(object),
  }
}

/** Each member under both of its names. */
function deliverLink(one: unknown): unknown {
  if (!isRecord(one)) return one
  const { type = one.platform, link = one.url, platform = type, url = link } = one
  return { ...one, type, link, platform, url }
}

/** Settings that appear beside `siteDetails` only, not in it. */
const flatOnly: readonly string[] = [...ownKeys, 'businessInfo', 'socialLinks']

export function deliverSite(site: StoredSite, tier: string, sign: SignMedia): SiteDetails {
  const { colors = {}, ...settings } = signAll(site.settings, sign) as StoredSite['settings']
  const { socialLinks } = settings
  if (Array.isArray(socialLinks)) settings.socialLinks = socialLinks.map(deliverLink)
  const pictures = Object.entries(settings).filter(([, value]) => isMediaValue(value))
  const mediaFields = Object.fromEntries(pictures.map(([name, value]) => [name, (value as MediaValue).type]))
  const open = Object.entries(settings).filter(([name]) => !flatOnly.includes(name))
  const own = { _id: site.id, name: site.name, domainName: site.domainName, tier }
  return {
    ...own,
    ...colors,
    ...settings,
    ...own, // last: a setting cannot override one of these
    siteDetails: {
      schema: {},
      values: { ...Object.fromEntries(open), ...colors, ...Object.fromEntries(pictures), mediaFields },
    },
  }
}
