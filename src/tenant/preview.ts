import type { Previewed } from '../../client/src/wire.ts'
import { checkFiles } from '../content/answer-limit.ts'
import { deliverCollectionObject, deliverIntegrationObject } from '../content/delivery.ts'
import { mediaKeysIn } from '../content/media-uses.ts'
import { notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { previewAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint } from '../http/endpoint.ts'
import { findContainerById, readByContainer } from '../store/content/containers.ts'
import { findContainerIdOf, findObject } from '../store/content/objects.ts'
import { usePreviewToken } from '../store/content/preview-tokens.ts'
import { editedValue } from '../store/content/publish-working-copies.ts'
import { findWorkingCopy } from '../store/content/working-copies.ts'

/** spec §4.4 */
export const preview = defineEndpoint({
  summary: 'One draft, by preview token',
  description:
    'The object of the token with its working copy, if it has one, regardless of its publish date and archive state, in the shape of its listing.',
  query: Type.Object({
    token: Type.String({ minLength: 1, maxLength: 500, description: 'The token of a shared preview link.' }),
  }),
  answer: previewAnswer,
  failures: ['NotFound', 'PreviewExpired'],
  // Not a content endpoint: previews are private, and their uses may be counted.
  async handle({ group, signing, newMeter, query, nowMs }): Promise<Previewed> {
    const objectId = await usePreviewToken(group, query.token, nowMs)
    const containerId = await findContainerIdOf(group, objectId)
    const previewed = await readByContainer(
      group,
      async () => (containerId === undefined ? undefined : findContainerById(group, containerId)),
      async (container) => {
        const found = await findObject(group, objectId) // as of this schema
        if (!found) return undefined
        const copy = await findWorkingCopy(group, objectId)
        const object = copy ? { ...found.object, value: editedValue(container, found.object, copy) } : found.object
        const keys = mediaKeysIn(container.schema, object.value)
        checkFiles(keys)
        const { sign } = await signing(keys)
        const deliver = container.kind === 'collection' ? deliverCollectionObject : deliverIntegrationObject
        return deliver(container, object, newMeter().measured(sign))
      },
    )
    if (!previewed) throw notFound('The previewed object no longer exists.')
    return previewed
  },
})
