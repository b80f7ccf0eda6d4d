import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Media } from '../media/media.ts'
import { connectAccount } from '../payments/connect.ts'
import { syncCatalogue } from '../payments/mirror-sync.ts'
import type { Payments } from '../payments/payments.ts'
import { seedSandbox } from '../payments/sandbox/seed.ts'
import { changeObjects } from '../store/change-objects.ts'
import { type Authoring, writeContent } from '../store/changes.ts'
import { findIntegration } from '../store/containers.ts'
import { eachObject } from '../store/each-object.ts'
import type { GroupStore } from '../store/groups.ts'
import type { Store } from '../store/open.ts'
import { demoOffers, productPictures } from './products.ts'
import type { MediaOf } from './types.ts'

export interface ShopDeps {
  store: Store
  media: Media
  payments: Payments
  clock: Clock
  logger: Logger
}

/** Connects the stand-in for a payment provider, and takes over what the bakery sells there. */
export async function openShop(deps: ShopDeps, group: GroupStore, authoring: Authoring, pictures?: MediaOf) {
  const { store, payments } = deps
  const { id } = await connectAccount({ store, payments, authoring, confirm: async () => {} }, group, {
    type: 'stripe',
    accountHandle: 'demo',
    secretKey: undefined,
    fill: (integrationId) => seedSandbox(group, integrationId, demoOffers, authoring.nowMs),
  })
  // The server's own worker may be at it already: then this goes on with the same walk.
  await syncCatalogue({ ...deps, versionsKept: authoring.versionsKept }, group, id)
  if (pictures) await hangPictures(group, authoring, productPictures(pictures))
}

/** Pictures are ours to choose; a comparison with the provider leaves them alone. */
async function hangPictures(group: GroupStore, authoring: Authoring, pictures: Map<string, unknown>): Promise<void> {
  await writeContent(group, authoring, async (writer) => {
    const shop = await findIntegration(writer.group, 'stripe')
    if (!shop) throw new Error('The demo’s products did not come in.')
    const products = await Array.fromAsync(eachObject(writer.group, shop.id))
    const planned = products.map((before) => ({
      before,
      wanted: { value: { ...before.value, productImage: pictures.get(before.externalId ?? '') } },
    }))
    await changeObjects(writer, shop, planned, 'updated')
  })
}
