import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import type { StoredObject } from '../../../src/content/model.ts'
import { makeId } from '../../../src/core/ids.ts'
import { createWorker, type Worker } from '../../../src/jobs/worker.ts'
import { catalogueHandlers } from '../../../src/payments/mirror/handlers.ts'
import { refreshProduct } from '../../../src/payments/mirror/mirror.ts'
import { syncCatalogue } from '../../../src/payments/mirror/sync.ts'
import {
  findIntegrationById,
  type Integration,
  insertIntegration,
  registerIntegration,
} from '../../../src/store/commerce/integrations.ts'
import { findIntegration } from '../../../src/store/content/containers.ts'
import { iterateObjects } from '../../../src/store/content/objects.ts'
import { write } from '../../helpers/authoring.ts'
import { type Data, type Editing, editing } from '../../helpers/editing.ts'
import { type FakeProvider, fakeProvider } from '../../helpers/fake-provider.ts'
import type { TestEngine } from '../../helpers/harness.ts'

/** An account at the fake provider. */
export interface Account {
  id: string
  provider: FakeProvider
  /** Its current state. */
  read(): Promise<Integration>
  /** Synchronises the catalogue and returns the report. */
  sync(): Promise<NonNullable<Integration['lastSync']>>
  refresh(productId: string): ReturnType<typeof refreshProduct>
  /** Our products of the account, by key. */
  objects(): Promise<Map<string, StoredObject>>
}

/** A group whose products come from the fake provider. */
export interface Shop extends Editing, Account {
  connect(accountHandle: string): Promise<Account>
  /** The content returned for a picture's URL. */
  pictures: Map<string, () => Readable>
  /** Runs the jobs of the mirror. */
  worker: Worker
  /** The items that the delivery API returns. */
  products(query?: string): Promise<Data[]>
  ids(query?: string): Promise<string[]>
}

export async function shop(engine: TestEngine, { workers = 2 } = {}): Promise<Shop> {
  const created = await editing(engine)
  const { service, clock, group } = created
  const { store, logger, media } = service
  const providers = new Map<string, FakeProvider>()
  const pictures = new Map<string, () => Readable>()
  const payments = {
    open: async (_group: unknown, { id }: Integration) => {
      const provider = providers.get(id)
      assert.ok(provider, 'the account has a provider')
      return provider
    },
    openPicture: async (url: string) => {
      const open = pictures.get(url)
      assert.ok(open, `there is a picture at ${url}`)
      return open()
    },
  }
  const deps = { store, payments, clock: () => clock.now, versionsKept: 50 }

  async function connect(accountHandle: string): Promise<Account> {
    const id = makeId()
    const provider = fakeProvider()
    providers.set(id, provider)
    await registerIntegration(store, id, group.groupId)
    const account = { accountId: `acct_${accountHandle}`, accountName: 'Fake', live: false, sandbox: false }
    await write(group.store, clock.now, (writer) =>
      insertIntegration(writer, { id, type: 'stripe', accountHandle, ...account }),
    )
    async function read(): Promise<Integration> {
      const found = await findIntegrationById(group.store, id)
      assert.ok(found, 'the account exists')
      return found
    }
    return {
      id,
      provider,
      read,
      async sync() {
        await syncCatalogue(deps, group.store, id)
        const { lastSync, walk } = await read()
        assert.equal(walk, undefined)
        assert.ok(lastSync, 'the synchronisation has finished')
        return lastSync
      },
      refresh: (productId) => refreshProduct(deps, group.store, { id }, provider, productId),
      async objects() {
        const container = await findIntegration(group.store, 'stripe')
        const all = container ? await Array.fromAsync(iterateObjects(group.store, container.id)) : []
        const own = all.filter((object) => object.accountHandle === accountHandle)
        return new Map(own.map((object) => [object.externalId ?? '', object]))
      },
    }
  }

  async function products(query = ''): Promise<Data[]> {
    const answer = await group.get(`/tenant/integrationObjects?type=stripe${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().data.items
  }

  return {
    ...created,
    ...(await connect('main')),
    connect,
    pictures,
    worker: createWorker({
      store,
      clock: () => clock.now,
      logger,
      workers,
      handlers: catalogueHandlers({ ...deps, media }),
    }),
    products,
    ids: async (query) => (await products(query)).map(({ id }) => id),
  }
}
