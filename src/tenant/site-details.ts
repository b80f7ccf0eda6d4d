import { checkFiles } from '../content/answer-limit.ts'
import { deliverSite } from '../content/delivery.ts'
import { mediaUsesAnywhere } from '../content/media-uses.ts'
import { notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { siteDetailsAnswer } from '../http/answer-schemas.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import { idParameter, previewParameter } from '../http/query.ts'
import { readSiteAtRevision } from '../store/content/sites.ts'
import { findWorkingCopy } from '../store/content/working-copies.ts'

/** spec §4.1 */
export const siteDetails = defineContentEndpoint({
  summary: 'Site configuration',
  description: 'Colours, logo, hero image, business information and pages of one site.',
  query: Type.Object({
    siteId: idParameter('The id of the site.', '66f0c0ffee0123456789abd0'),
    preview: previewParameter,
  }),
  answer: siteDetailsAnswer,
  failures: ['NotFound', 'PreviewExpired'],
  async read({ tenant, query, reading, group, signing, newMeter }) {
    const { site: live, revision, mediaRevision, dueMs } = await readSiteAtRevision(group, query.siteId)
    reading.confirm(revision)
    const untilDueMs = reading.untilDue(dueMs)
    if (!live) throw notFound('There is no site with this siteId.')
    const copy = reading.isPreview ? await findWorkingCopy(group, live.id) : undefined
    const site = copy ? { ...live, settings: copy.value } : live
    const keys = [...new Set(mediaUsesAnywhere(site.settings).map(({ key }) => key))]
    checkFiles(keys)
    const { sign, untilMs } = await signing(keys, mediaRevision)
    return {
      json: [JSON.stringify(deliverSite(site, tenant.tier, newMeter().measured(sign)))],
      untilMs: Math.min(untilMs, untilDueMs),
    }
  },
})
