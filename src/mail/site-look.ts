import { businessOf } from '../content/mail-requests.ts'
import type { StoredSite } from '../content/model.ts'
import { isRecord } from '../content/schema.ts'
import { findSite, listSites } from '../store/content/sites.ts'
import type { Group } from '../store/control/groups.ts'
import type { GroupStore } from '../store/store.ts'
import type { Logo, ReadLogo } from './logo.ts'

/** What an e-mail shows of its site. */
export interface SiteLook {
  name: string
  /** Without a scheme; may be empty. */
  domainName: string
  colors: { primary?: string; surface?: string; 'text-primary'?: string }
  /** Embedded, because a signed URL would expire before the e-mail is read. */
  logo: Logo | undefined
}

const colorNames = ['primary', 'surface', 'text-primary'] as const

async function siteOf(group: GroupStore, siteId: string | undefined): Promise<StoredSite | undefined> {
  return (siteId !== undefined && (await findSite(group, siteId))) || (await listSites(group))[0]
}

const colorsOf = ({ settings: { colors = {} } }: StoredSite): SiteLook['colors'] =>
  Object.fromEntries(colorNames.flatMap((name) => (colors[name] === undefined ? [] : [[name, colors[name]]])))

const logoKeyOf = ({ settings: { logo } }: StoredSite): string | undefined =>
  isRecord(logo) && typeof logo.key === 'string' ? logo.key : undefined

export async function readSiteLook(
  readLogo: ReadLogo,
  owner: Group,
  group: GroupStore,
  { siteId, siteName }: { siteId?: string | undefined; siteName: string },
): Promise<SiteLook> {
  const site = await siteOf(group, siteId)
  if (!site) return { name: siteName, domainName: '', colors: {}, logo: undefined }
  const logoKey = logoKeyOf(site)
  return {
    name: businessOf(site).name ?? site.name,
    domainName: site.domainName,
    colors: colorsOf(site),
    logo: logoKey === undefined ? undefined : await readLogo(owner.bucketName, group, logoKey),
  }
}
