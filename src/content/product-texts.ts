import { type CatalogueProduct, quoted, variantOf } from './catalogue.ts'
import { maxNameCharacters } from './product-schema.ts'
import { isStorableText } from './texts.ts'

/** A text that is there, and that can be stored. */
export const storable = (text: string | null | undefined): string | undefined =>
  text && isStorableText(text) ? text : undefined

/** Without a name there is no product: what cannot be stored of it is replaced. */
export const shortName = ({ name }: CatalogueProduct): string =>
  name.slice(0, maxNameCharacters).toWellFormed().replaceAll('\0', '\ufffd')

/** What of a product's texts is not taken over as it is, in words. */
export function textProblems(product: CatalogueProduct): string[] {
  const { id, name, description, metadata, images } = product
  const problems: string[] = []
  if (name.length > maxNameCharacters)
    problems.push(`The name of the product ${id} is cut after ${maxNameCharacters} characters.`)
  if (!isStorableText(name))
    problems.push(`The name of the product ${id} holds characters that cannot be stored: they are replaced.`)
  if (storable(metadata.variant_of) !== undefined && variantOf(product) === undefined)
    problems.push(`The product ${id} is taken for one of its own: its metadata.variant_of is too long.`)
  const leaveOut = (what: string) =>
    problems.push(`${what} of the product ${id} is left out: it holds a character that cannot be stored.`)
  if (!isStorableText(description ?? '')) leaveOut('The description')
  if (!images.every(isStorableText)) leaveOut('A picture')
  for (const [name, text] of Object.entries(metadata)) if (!isStorableText(text)) leaveOut(`metadata ${quoted(name)}`)
  return problems
}

/** A report is to be read. */
const maxProblems = 50

/** Each of them once, and no more of them than one reads. */
export function fewProblems(problems: Iterable<string>): string[] {
  const different = [...new Set(problems)]
  const more = different.length - maxProblems
  return more > 0 ? [...different.slice(0, maxProblems), `${more} more things could not be taken over.`] : different
}
