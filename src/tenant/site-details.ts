import Type from 'typebox'
import { deliverSite } from '../content/delivery.ts'
import { notFound } from '../errors.ts'
import { sendContent } from '../http/answer.ts'
import { siteDetailsAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint } from '../http/endpoint.ts'
import { idParameter } from '../http/parameters.ts'
import { signFor } from '../media/signer.ts'
import { openGroup } from '../store/groups.ts'
import { findSite } from '../store/sites.ts'

/** spec §4.1 */
export const siteDetails = defineEndpoint({
  summary: 'Site configuration',
  description: 'Colours, logo, hero image, business information and pages of one site.',
  query: Type.Object({ siteId: idParameter('The id of the site.') }),
  answer: siteDetailsAnswer,
  failures: ['NotFound'],
  async handle({ store, signer }, request, reply) {
    const group = await openGroup(store, request.tenant)
    const site = await findSite(group, request.query.siteId)
    if (!site) throw notFound('There is no site with this siteId.')
    return sendContent(request, reply, deliverSite(site, request.tenant.tier, signFor(signer, request.tenant)))
  },
})
