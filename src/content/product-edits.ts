import type { Container } from './model.ts'

export const providerTypes = ['stripe'] as const

/** Whether its objects mirror a payment provider, so that people do not write them. */
export const isMirrored = ({ kind, name }: Pick<Container, 'kind' | 'name'>): boolean =>
  kind === 'integration' && (providerTypes as readonly string[]).includes(name)

/** The fields of a product that the provider sets and editors may override. A missing value is null. */
export interface Editable {
  archived: boolean
  productType: unknown
  productImage: unknown
}

/** The provider's latest values, and the editors' overrides since. */
export interface Origin {
  provider: Editable
  edited: Partial<Editable>
}

export interface Merged extends Editable {
  origin: Origin
}

/** The fields of a product's value among them. */
export const editableFields = ['productType', 'productImage'] as const

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * Merges the provider's values with the editors'. A stored value that differs from what we wrote is an editor's, and wins
 * until the editor reverts it. `current` is the product as stored, `provider` what the provider has today.
 */
export function mergeEdits(origin: Origin | undefined, current: Editable, provider: Editable): Merged {
  const edited: Partial<Editable> = {}
  if (isArchivedByEditor(origin, current)) edited.archived = true
  for (const field of editableFields) {
    if (isEdited(field, origin, current, provider)) edited[field] = current[field]
  }
  return { origin: { provider, edited }, ...provider, ...edited }
}

/** An editor can withdraw what the provider sells, but not sell what the provider does not. */
function isArchivedByEditor(origin: Origin | undefined, { archived }: Editable): boolean {
  if (!origin || !archived) return archived
  return origin.edited.archived === true || !origin.provider.archived
}

function isEdited(
  field: (typeof editableFields)[number],
  origin: Origin | undefined,
  current: Editable,
  provider: Editable,
): boolean {
  // The product was imported: what it lacks was not removed by an editor.
  if (!origin) return current[field] !== null && !isSame(current[field], provider[field])
  if (Object.hasOwn(origin.edited, field) && isSame(current[field], origin.edited[field])) return true
  return !isSame(current[field], origin.provider[field])
}
