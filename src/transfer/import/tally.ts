import type { Container, StoredObject, StoredSite } from '../../content/model.ts'
import { differencesOf } from '../../store/content/change-objects.ts'
import { hasSameSchema } from '../schemas.ts'

export type Verdict = 'added' | 'changed' | 'equal'
export type TallyCounts = Record<Verdict, number>

const kinds = ['sites', 'collections', 'integrations', 'objects', 'libraryItems', 'orders', 'media'] as const

/** The effects of an import, counted by kind. */
export type Tally = Record<(typeof kinds)[number], TallyCounts>

const none = (): TallyCounts => ({ added: 0, changed: 0, equal: 0 })
export const emptyTally = () => Object.fromEntries(kinds.map((kind) => [kind, none()])) as Tally

export const changesAnything = (tally: Tally): boolean =>
  Object.values(tally).some(({ added, changed }) => added + changed > 0)

/** Whether anything but files changes. */
export const changesContent = (tally: Tally): boolean => changesAnything({ ...tally, media: none() })

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

export function judgeSite(here: StoredSite | undefined, wanted: StoredSite, isCopySame: boolean): Verdict {
  if (!here) return 'added'
  const parts = ['name', 'domainName', 'settings', 'privateSettings'] as const
  return isCopySame && parts.every((part) => isSame(here[part], wanted[part])) ? 'equal' : 'changed'
}

export function judgeContainer(here: Container | undefined, wanted: Container): Verdict {
  if (!here) return 'added'
  const isEqual = here.name === wanted.name && isSame(here.settings, wanted.settings) && hasSameSchema(here, wanted)
  return isEqual ? 'equal' : 'changed'
}

/** Compares what visitors and editors see, not the number of changes. */
export function judgeObject(here: StoredObject | undefined, wanted: StoredObject, isCopySame: boolean): Verdict {
  if (!here) return 'added'
  return isCopySame && differencesOf(here, wanted).length === 0 ? 'equal' : 'changed'
}
