import type { LightMyRequestResponse } from 'fastify'
import { listMessages, type Message } from '../../src/store/messages.ts'
import type { NewSite } from '../../src/store/sites.ts'
import { createSite } from './authoring.ts'
import { type Harness, harness, type TestEngine, type TestGroup } from './harness.ts'

export const contactPath = '/tenant/sendContactEmail'
export const orderPath = '/tenant/sendOrderPlacedEmail'

/** Bodies that succeed in any group. */
export const contactBody = {
  name: 'Ada Lindqvist',
  to: 'hello@bakery.example',
  message: 'Do you bake without rye?\nI ask for a friend.',
  siteName: 'Corner Bakery',
  htmlInfo: {},
}
export const orderBody = {
  to: 'ada@customer.example',
  htmlInfo: {
    title: 'Thank you for your order',
    subtitle: 'We are baking it now.',
    whiteBoxText: '<ul><li>2 × Sourdough</li></ul>',
    signature: 'The Corner Bakery',
  },
}

/** Every e-mail of a group, newest first. */
export const messagesOf = async ({ store }: TestGroup): Promise<Message[]> =>
  (await listMessages(store, { limit: 1000, skip: 0 })).messages

/** What a request has left behind, counted. After one that was refused, all of it is as before. */
export async function countTraces({ store: { database } }: TestGroup) {
  const count = async (table: 'messages' | 'jobs' | 'idempotency_keys' | 'changes'): Promise<number> => {
    const counted = database.read.selectFrom(table).select(({ fn }) => fn.countAll<number>().as('total'))
    return Number((await counted.executeTakeFirstOrThrow()).total)
  }
  const tallies = await database.read.selectFrom('tallies').select('count').execute()
  return {
    messages: await count('messages'),
    jobs: await count('jobs'),
    keys: await count('idempotency_keys'),
    changes: await count('changes'),
    tallied: tallies.reduce((sum, { count: more }) => sum + more, 0),
  }
}

export interface Outbox extends Harness {
  group: TestGroup
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  addSite(site: Partial<NewSite>): ReturnType<typeof createSite>
  /** The e-mail that was accepted last. */
  latest(): Promise<Message>
}

/** A service with a group that sends e-mails. */
export async function openOutbox(engine: TestEngine, options?: Parameters<typeof harness>[1]): Promise<Outbox> {
  const created = await harness(engine, options)
  const group = await created.newGroup()
  return {
    ...created,
    group,
    post: (path, body, headers = {}) =>
      created.app.inject({
        method: 'POST',
        url: path,
        headers: { authorization: group.key, 'content-type': 'application/json', ...headers },
        payload: JSON.stringify(body),
      }),
    addSite: (site) =>
      createSite(group.store, { name: 'A site', domainName: '', settings: {}, ...site }, created.clock.now),
    async latest() {
      const [message] = await messagesOf(group)
      if (!message) throw new Error('No e-mail was accepted.')
      return message
    },
  }
}
