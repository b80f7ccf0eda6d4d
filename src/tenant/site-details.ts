import Type from 'typebox'
import { deliverSite } from '../content/delivery.ts'
import { mediaUsesAnywhere } from '../content/media-uses.ts'
import { notFound } from '../errors.ts'
import { siteDetailsAnswer } from '../http/answer-schemas.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import { idParameter } from '../http/parameters.ts'
import { readRevision } from '../store/revisions.ts'
import { findSite } from '../store/sites.ts'

/** spec §4.1 */
export const siteDetails = defineContentEndpoint({
  summary: 'Site configuration',
  description: 'Colours, logo, hero image, business information and pages of one site.',
  query: Type.Object({ siteId: idParameter('The id of the site.', '66f0c0ffee0123456789abd0') }),
  answer: siteDetailsAnswer,
  failures: ['NotFound'],
  async read({ tenant, group, signing, query, nowMs }) {
    const revision = await readRevision(group)
    const site = await findSite(group, query.siteId)
    if (!site) throw notFound('There is no site with this siteId.')
    const keys = mediaUsesAnywhere(site.settings).map(({ key }) => key)
    const details = deliverSite(site, tenant.tier, await signing(keys))
    return { json: JSON.stringify(details), revision, untilMs: nowMs }
  },
})
