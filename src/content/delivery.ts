import type { CollectionObject, IntegrationObject, MediaValue, SiteDetails, ValueBase } from '../../client/src/wire.ts'
import { replaceMediaInHtml } from './html-media.ts'
import { isMediaValue, type MediaReference, mapMedia, mapTexts } from './media-uses.ts'
import { type Container, type StoredObject, type StoredSite, unsetPublishMs } from './model.ts'
import { toIso } from './moments.ts'
import { type Field, isMedia, isRecord, isVariantMap, leafOf, mayHoldHtml, type Schema } from './schema.ts'
import { ownKeys } from './site-settings.ts'

export type CurrentFile = MediaValue['currentFile']

/**
 * Gives the addresses of one file; undefined of one that is not the group's own. Throws when it cannot. A text shows one
 * address, a media value all of them.
 */
export type SignMedia = (key: string, isForText?: boolean) => CurrentFile | undefined

/** An unsigned address is never delivered, nor none at all. */
function signed({ key }: MediaReference, sign: SignMedia): CurrentFile {
  const file = sign(key)
  if (!file) throw new Error(`The media key ${JSON.stringify(key)} is not one of the group.`)
  return file
}

/** Signs every media value in a structure of any shape: single, in a list, in a variant map, deep inside settings. */
function signAll(value: unknown, sign: SignMedia): unknown {
  return mapMedia(value, (media) => ({ ...media, currentFile: signed(media, sign) }))
}

/** Texts in a list or a variant map too. */
function signTexts(value: unknown, sign: SignMedia): unknown {
  return mapTexts(value, (html) => replaceMediaInHtml(html, (key) => sign(key, true)?.source))
}

function deliverField(field: Field, value: unknown, sign: SignMedia): unknown {
  if (isMedia(leafOf(field))) return signAll(value, sign)
  return mayHoldHtml(field) ? signTexts(value, sign) : value
}

/** An object as far as delivery looks at it. */
export type DeliverableObject = Omit<StoredObject, 'version' | 'review'>

/** Only what the schema names and does not keep private leaves the service, in the order in which it is stored. */
function deliverValue(schema: Schema, object: DeliverableObject, sign: SignMedia): Record<string, unknown> & ValueBase {
  const delivered: Record<string, unknown> = { _id: object.id }
  const mediaFields: Record<string, string> = {}
  for (const [name, value] of Object.entries(object.value)) {
    const field = schema.get(name)
    if (!field || field.private || value === undefined) continue
    delivered[name] = deliverField(field, value, sign)
    if (value !== null && isMedia(leafOf(field))) mediaFields[name] = leafOf(field).type
  }
  return { ...delivered, _id: object.id, mediaFields }
}

function deliverState(object: DeliverableObject) {
  return {
    publishDate: object.publishMs === unsetPublishMs ? null : toIso(object.publishMs),
    archived: object.archived,
    createdAt: toIso(object.createdMs),
    updatedAt: toIso(object.updatedMs),
  }
}

export function deliverCollectionObject(
  collection: Container,
  object: DeliverableObject,
  sign: SignMedia,
): CollectionObject {
  return {
    _id: object.id,
    objectValue: deliverValue(collection.schema, object, sign),
    collectionObj: { name: collection.name, refID: collection.id },
    ...deliverState(object),
  }
}

/** The map that tells a variant product from a simple one: the first of its variant fields that holds one. */
function variantMapOf(schema: Schema, object: DeliverableObject): Record<string, unknown> | undefined {
  for (const [name, field] of schema) {
    const value = object.value[name]
    if (field.type === 'variant' && !field.private && isVariantMap(field, value)) return value
  }
  return undefined
}

export function deliverIntegrationObject(
  integration: Container,
  object: DeliverableObject,
  sign: SignMedia,
): IntegrationObject {
  const variants = variantMapOf(integration.schema, object)
  const variantName = integration.schema.get('variantName')?.private ? undefined : object.value.variantName
  return {
    _id: object.id,
    id: object.externalId ?? object.id,
    type: integration.name,
    platform: integration.name,
    accountHandle: object.accountHandle,
    objectValue: deliverValue(integration.schema, object, sign) as IntegrationObject['objectValue'],
    ...(variants && {
      usingVariant: { name: typeof variantName === 'string' ? variantName : 'variant', values: Object.keys(variants) },
    }),
    ...deliverState(object),
  }
}

/** Each part under both of its names. */
function deliverLink(one: unknown): unknown {
  if (!isRecord(one)) return one
  const { type = one.platform, link = one.url, platform = type, url = link } = one
  return { ...one, type, link, platform, url }
}

/** Settings of known names that stand beside `siteDetails` only. */
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
    ...own, // whatever a setting is called, it cannot pose as one of these
    siteDetails: {
      schema: {},
      values: { ...Object.fromEntries(open), ...colors, ...Object.fromEntries(pictures), mediaFields },
    },
  }
}
