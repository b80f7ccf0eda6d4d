import type { Logger } from 'pino'
import type { Clock } from '../core/clock.ts'
import type { Media } from '../media/media.ts'
import { connectAccount } from '../payments/connect.ts'
import { syncCatalogue } from '../payments/mirror/sync.ts'
import type { Payments } from '../payments/payments.ts'
import { seedSandbox } from '../payments/sandbox/catalogue.ts'
import { changeObjects } from '../store/content/change-objects.ts'
import { type Authoring, writeContent } from '../store/content/changes.ts'
import { findIntegration } from '../store/content/containers.ts'
import { iterateObjects } from '../store/content/objects.ts'
import type { GroupStore, Store } from '../store/store.ts'
import { demoProducts, type MediaOf } from './content.ts'

export interface ShopDeps {
  store: Store
  media: Media
  payments: Payments
  clock: Clock
  logger: Logger
}

/** Connects a sandbox account and imports its products. */
export async function openShop(deps: ShopDeps, group: GroupStore, authoring: Authoring, pictures?: MediaOf) {
  const { store, payments } = deps
  const { id } = await connectAccount({ store, payments, authoring, confirm: async () => {} }, group, {
    type: 'stripe',
    accountHandle: 'demo',
    secretKey: undefined,
    fill: (integrationId) => seedSandbox(group, integrationId, demoProducts().offers, authoring.nowMs),
  })
  // The server's own job worker may have started the walk already; this continues it.
  await syncCatalogue({ ...deps, versionsKept: authoring.versionsKept }, group, id)
  if (pictures) await setPictures(group, authoring, demoProducts(pictures).pictures)
}

/** Set as edits, which a sync with the provider keeps. */
async function setPictures(group: GroupStore, authoring: Authoring, pictures: Record<string, unknown>): Promise<void> {
  await writeContent(group, authoring, async (writer) => {
    const shop = await findIntegration(writer.group, 'stripe')
    if (!shop) throw new Error('The demo’s products were not imported.')
    const products = await Array.fromAsync(iterateObjects(writer.group, shop.id))
    const planned = products.map((before) => ({
      before,
      wanted: { value: { ...before.value, productImage: pictures[before.externalId ?? ''] } },
    }))
    await changeObjects(writer, shop, planned, 'updated')
  })
}
