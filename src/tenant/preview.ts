import Type from 'typebox'
import { deliverCollectionObject, deliverIntegrationObject } from '../content/delivery.ts'
import { ok } from '../envelope.ts'
import { notFound } from '../errors.ts'
import { previewAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint } from '../http/endpoint.ts'
import { signFor } from '../media/signer.ts'
import { findContainerById } from '../store/containers.ts'
import { openGroup } from '../store/groups.ts'
import { findObject } from '../store/objects.ts'
import { usePreviewToken } from '../store/preview-tokens.ts'

/** spec §4.4 */
export const preview = defineEndpoint({
  summary: 'One draft, by preview token',
  description:
    'The object that the token names, whatever its publish date and archive state, in the shape its listing gives.',
  query: Type.Object({
    token: Type.String({ minLength: 1, maxLength: 500, description: 'The token of a shared preview link.' }),
  }),
  answer: previewAnswer,
  failures: ['NotFound', 'PreviewExpired'],
  async handle({ store, signer, clock }, request, reply) {
    const group = await openGroup(store, request.tenant)
    const objectId = await usePreviewToken(group, request.query.token, clock())
    const found = await findObject(group, objectId)
    const container = found && (await findContainerById(group, found.containerId))
    if (!container) throw notFound('The previewed object does not exist any more.')
    const deliver = container.kind === 'collection' ? deliverCollectionObject : deliverIntegrationObject
    return reply.send(ok(deliver(container, found.object, signFor(signer, request.tenant))))
  },
})
