import type { Previewed } from '../../client/src/wire.ts'
import { checkFiles } from '../content/answer-limit.ts'
import { deliverCollectionObject, deliverIntegrationObject } from '../content/delivery.ts'
import { mediaKeysIn } from '../content/media-uses.ts'
import type { Container, StoredObject } from '../content/model.ts'
import { notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { type Expansion, readExpansion } from '../delivery/expand.ts'
import { previewAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint } from '../http/endpoint.ts'
import { expandParameter } from '../http/query.ts'
import { findContainerById, readByContainer } from '../store/content/containers.ts'
import { findContainerIdOf, findObject } from '../store/content/objects.ts'
import { usePreviewToken } from '../store/content/preview-tokens.ts'
import { editedValue } from '../store/content/publish-working-copies.ts'
import { readRevision } from '../store/content/revisions.ts'
import { findWorkingCopy } from '../store/content/working-copies.ts'
import { createContentCache } from '../store/lists/content-cache.ts'
import { type Reading, readSettled } from '../store/lists/reading.ts'
import { findExpansion } from '../store/lists/targets.ts'

/** The visible targets of a previewed object's references. */
async function expandOne(
  reading: Reading,
  { container, object }: { container: Container; object: StoredObject },
  expand: string | undefined,
  maxBytes: number,
): Promise<Expansion | undefined> {
  if (expand === undefined) return undefined
  const revision = await readRevision(reading.group)
  reading.confirm(revision)
  const tree = await findExpansion(reading, { container, revision }, expand)
  const item = { object: { ...object, valueText: '' }, value: object.value }
  return tree && readExpansion(reading, { container, items: [item], tree, maxBytes })
}

/** spec §4.4 */
export const preview = defineEndpoint({
  summary: 'One draft, by preview token',
  description:
    'The object of the token with its working copy, if it has one, regardless of its publish date and archive state, in the shape of its listing.',
  query: Type.Object({
    token: Type.String({ minLength: 1, maxLength: 500, description: 'The token of a shared preview link.' }),
    expand: expandParameter,
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
        const meter = newMeter()
        const expansion = await readSettled(group, createContentCache(0), nowMs, (reading) =>
          expandOne(reading, { container, object }, query.expand, meter.maxBytes),
        )
        const keys = [...mediaKeysIn(container.schema, object.value), ...(expansion?.mediaKeys ?? [])]
        checkFiles(keys)
        const { sign } = await signing(keys)
        const measured = meter.measured(sign)
        const deliver = container.kind === 'collection' ? deliverCollectionObject : deliverIntegrationObject
        const item = deliver(container, object, measured)
        if (!expansion) return item
        await expansion.prepare(measured)
        return JSON.parse(expansion.addTo([JSON.stringify(item)], 0).join(''))
      },
    )
    if (!previewed) throw notFound('The previewed object no longer exists.')
    return previewed
  },
})
