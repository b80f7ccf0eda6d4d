import type { FastifyInstance } from 'fastify'
import { type AdmissionDeps, admitTenants, type ManageAdmissionDeps } from '../http/admission.ts'
import type { Endpoint, EndpointDeps } from '../http/endpoint.ts'
import { timeForAdministrators } from '../http/timing.ts'
import { collectionObjects } from './collection-objects.ts'
import { createCheckoutSession } from './create-checkout-session.ts'
import { definedCollectionObject } from './defined-collection-object.ts'
import { integrationObjects } from './integration-objects.ts'
import { preview } from './preview.ts'
import { sendContactEmail } from './send-contact-email.ts'
import { sendOrderPlacedEmail } from './send-order-placed-email.ts'
import { siteDetails } from './site-details.ts'

/** In the order of spec §4. */
const routes: readonly (readonly [method: 'GET' | 'POST', url: string, endpoint: Endpoint])[] = [
  ['GET', '/tenant/siteDetails', siteDetails],
  ['GET', '/tenant/collectionObjects', collectionObjects],
  ['GET', '/tenant/integrationObjects', integrationObjects],
  ['GET', '/tenant/preview', preview],
  ['POST', '/tenant/createCheckoutSession', createCheckoutSession],
  ['POST', '/tenant/definedCollectionObject', definedCollectionObject],
  ['POST', '/tenant/sendContactEmail', sendContactEmail],
  ['POST', '/tenant/sendOrderPlacedEmail', sendOrderPlacedEmail],
]

export function registerTenantRoutes(
  app: FastifyInstance,
  deps: EndpointDeps & AdmissionDeps & ManageAdmissionDeps,
): void {
  app.register(async (scope) => {
    admitTenants(scope, deps)
    timeForAdministrators(scope, deps)
    for (const [method, url, endpoint] of routes) scope.route({ method, url, ...endpoint(deps) })
  })
}
