import type { FastifyInstance } from 'fastify'
import { type AdmissionDeps, admitTenants, type ManageAdmissionDeps } from '../http/admission.ts'
import type { Endpoint, EndpointDeps } from '../http/endpoint.ts'
import { timeForAdministrators } from '../http/timing.ts'
import { contentEndpoints } from './content-endpoints.ts'
import { createCheckoutSession } from './create-checkout-session.ts'
import { definedCollectionObject } from './defined-collection-object.ts'
import { preview } from './preview.ts'
import { sendContactEmail } from './send-contact-email.ts'
import { sendOrderPlacedEmail } from './send-order-placed-email.ts'

/** spec §4, in its order. */
const routes: readonly (readonly [method: 'GET' | 'POST', url: string, endpoint: Endpoint])[] = [
  ...Object.entries(contentEndpoints).map(([path, endpoint]) => ['GET', path, endpoint] as const),
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
