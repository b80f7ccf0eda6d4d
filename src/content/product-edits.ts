/** What the provider says of a product, and what editors may say otherwise. What is not there is null. */
export interface Editable {
  archived: boolean
  productType: unknown
  productImage: unknown
}

/** What the provider said last, and what editors have said otherwise since. */
export interface Origin {
  provider: Editable
  edited: Partial<Editable>
}

export interface Merged extends Editable {
  origin: Origin
}

const editableFields = ['productType', 'productImage'] as const

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * What a product is now. Where it is not as we left it, an editor was there: that stays, whatever the provider says, until
 * the editor takes it back. `current` is the product as it is stored, `provider` what the provider says today.
 */
export function mergeEdits(origin: Origin | undefined, current: Editable, provider: Editable): Merged {
  const edited: Partial<Editable> = {}
  if (isArchivedByEditor(origin, current)) edited.archived = true
  for (const field of editableFields) {
    if (isEdited(field, origin, current, provider)) edited[field] = current[field]
  }
  return {
    origin: { provider, edited },
    ...provider,
    ...edited,
  }
}

/** An editor can withdraw what the provider sells, and not sell what the provider does not. */
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
  // It came by an import: what it lacks nobody has taken away.
  if (!origin) return current[field] !== null && !isSame(current[field], provider[field])
  if (Object.hasOwn(origin.edited, field) && isSame(current[field], origin.edited[field])) return true
  return !isSame(current[field], origin.provider[field])
}
