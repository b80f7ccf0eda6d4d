import { readNotes } from '../../content/checkout.ts'
import { countryOf } from '../../content/countries.ts'
import { isRecord } from '../../content/schema.ts'
import type { Group, GroupStore } from '../../store/groups.ts'
import { listSites } from '../../store/sites.ts'

/** Who sells, as customers know them. */
export interface Shop {
  name: string
  /** Two letters; undefined where nobody has said. */
  country: string | undefined
}

/** The shop of a session, by the site that it was noted with, else by the group's first one. */
export async function findShop(
  group: GroupStore,
  owner: Pick<Group, 'name'>,
  metadata: Record<string, string>,
): Promise<Shop> {
  const sites = await listSites(group)
  const { siteId } = readNotes(metadata)
  const site = sites.find(({ id }) => id === siteId) ?? sites[0]
  const info = site?.settings.businessInfo
  const { name, address } = isRecord(info) ? info : {}
  const { country } = isRecord(address) ? address : {}
  return {
    name: (typeof name === 'string' && name) || site?.name || owner.name,
    country: typeof country === 'string' ? countryOf(country) : undefined,
  }
}
