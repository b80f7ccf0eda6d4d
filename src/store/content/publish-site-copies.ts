import type { StoredSite } from '../../content/model.ts'
import { toIso } from '../../content/moments.ts'
import { compareThreeWay, mergeThreeWay, type ThreeValues } from '../../content/working-copy.ts'
import { conflict } from '../../core/errors.ts'
import type { ContentWriter } from './changes.ts'
import { rehearse, resolveStale, type StaleBase } from './publish-working-copies.ts'
import { updateSite } from './sites.ts'
import { deleteWorkingCopy, findWorkingCopy, updateWorkingCopy, type WorkingCopy } from './working-copies.ts'

/** A site's settings, compared by their keys. */
export const threeSettingsOf = ({ settings: live }: StoredSite, copy: WorkingCopy): ThreeValues => ({
  base: copy.baseValue,
  live,
  draft: copy.value,
})

/** Replaces a site's settings by its working copy, which ends. */
export async function publishSiteCopy(
  writer: ContentWriter,
  site: StoredSite,
  copy: WorkingCopy,
  stale: StaleBase,
): Promise<StoredSite> {
  const settings = resolveStale(threeSettingsOf(site, copy), copy, site.version, stale)
  await deleteWorkingCopy(writer, copy)
  return updateSite(writer, site, { settings })
}

/** From `dueMs` on, the working copy is the site's settings. */
export async function scheduleSiteCopy(
  writer: ContentWriter,
  site: StoredSite,
  copy: WorkingCopy,
  { dueMs, ...stale }: StaleBase & { dueMs: number },
): Promise<WorkingCopy> {
  const value = resolveStale(threeSettingsOf(site, copy), copy, site.version, stale)
  await rehearse(writer, (inside) => publishSiteCopy(inside, site, copy, stale))
  const scheduled = { value, baseValue: site.settings, baseVersion: site.version, dueMs, problem: null }
  await updateWorkingCopy(writer, site.id, scheduled)
  writer.record({ type: 'draft.scheduled', subjectId: site.id, note: `for ${toIso(dueMs)}` })
  return { ...copy, ...scheduled }
}

/** A site's scheduled change. Settings that only the live site changed since are kept. */
export async function publishDueSiteCopy(writer: ContentWriter, site: StoredSite, copy: WorkingCopy): Promise<void> {
  const values = threeSettingsOf(site, copy)
  const { both } = compareThreeWay(values)
  if (both.length > 0) throw conflict(`The site was changed in the same settings: ${both.join(', ')}.`)
  await deleteWorkingCopy(writer, copy)
  await updateSite(writer, site, { settings: mergeThreeWay(values) })
}

/** Refuses changes of settings that a scheduled change of the site has otherwise. */
export async function refuseSiteContradiction(
  { group }: ContentWriter,
  site: StoredSite,
  settings: StoredSite['settings'],
): Promise<void> {
  const copy = await findWorkingCopy(group, site.id)
  if (!copy || copy.dueMs === null) return
  const { both } = compareThreeWay(threeSettingsOf({ ...site, settings }, copy))
  if (both.length === 0) return
  throw conflict(
    `A change of ${both.join(', ')} is scheduled for ${toIso(copy.dueMs)}. Cancel it first (schedule the working copy for null), or change other settings.`,
    { siteId: site.id, publishAt: toIso(copy.dueMs), settings: both },
  )
}
