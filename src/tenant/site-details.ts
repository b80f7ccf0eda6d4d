import { checkFiles } from '../content/answer-limit.ts'
import { deliverSite } from '../content/delivery.ts'
import { mediaUsesAnywhere } from '../content/media-uses.ts'
import { notFound } from '../errors.ts'
import { siteDetailsAnswer } from '../http/answer-schemas.ts'
import { defineContentEndpoint } from '../http/endpoint.ts'
import { idParameter } from '../http/parameters.ts'
import { readAtOneRevision } from '../store/revisions.ts'
import { readSiteAt } from '../store/sites.ts'
import { Type } from '../type.ts'

/** spec §4.1 */
export const siteDetails = defineContentEndpoint({
  summary: 'Site configuration',
  description: 'Colours, logo, hero image, business information and pages of one site.',
  query: Type.Object({ siteId: idParameter('The id of the site.', '66f0c0ffee0123456789abd0') }),
  answer: siteDetailsAnswer,
  failures: ['NotFound'],
  read: ({ tenant, query, signing, ...call }) =>
    readAtOneRevision(call.group, call.memory, async (group) => {
      const { site, revision, mediaRevision } = await readSiteAt(group, query.siteId)
      if (!site) throw notFound('There is no site with this siteId.')
      const keys = [...new Set(mediaUsesAnywhere(site.settings).map(({ key }) => key))]
      checkFiles(keys)
      const { sign, untilMs } = await signing(keys, { group, mediaRevision })
      return {
        json: [JSON.stringify(deliverSite(site, tenant.tier, call.newMeter().measured(sign)))],
        revision,
        untilMs,
      }
    }),
})
