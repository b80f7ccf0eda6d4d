import type { NewSite } from '../../src/store/content/sites.ts'
import {
  findMessage,
  insertMessage,
  listMessages,
  type Message,
  type NewMessage,
} from '../../src/store/mail/messages.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { createSite, write } from './authoring.ts'
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

/** An ordinary e-mail. */
export const letter = (more: Partial<NewMessage> = {}): NewMessage => ({
  kind: 'contact',
  recipient: 'owner@shop.example',
  replyTo: 'ann@people.example',
  subject: 'New message from Ann',
  content: { siteName: 'Bakery', visitor: { name: 'Ann', message: 'Is there rye bread today?' } },
  sender: 'mail@mail.example',
  ...more,
})

/** Adds an e-mail to the outbox of a group, and returns its id. */
export const putMessage = (group: GroupStore, nowMs: number, more: Partial<NewMessage> = {}): Promise<string> =>
  write(group, nowMs, (writer) => insertMessage(writer, letter(more)))

/** Every e-mail of a group, newest first. */
export async function messagesOf({ store }: TestGroup): Promise<Message[]> {
  const { messages } = await listMessages(store, { limit: 1000, skip: 0 })
  const whole = await Promise.all(messages.map(({ id }) => findMessage(store, id)))
  return whole.filter((message) => message !== undefined)
}

/** Counts what requests leave behind; a refused one must not change it. */
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
  post: TestGroup['post']
  addSite(site: Partial<NewSite>): ReturnType<typeof createSite>
  /** The last accepted e-mail. */
  latest(): Promise<Message>
}

/** A service with a group that sends e-mails. */
export async function openOutbox(engine: TestEngine, options?: Parameters<typeof harness>[1]): Promise<Outbox> {
  const created = await harness(engine, options)
  const group = await created.newGroup()
  return {
    ...created,
    group,
    post: group.post,
    addSite: (site) =>
      createSite(group.store, { name: 'A site', domainName: '', settings: {}, ...site }, created.clock.now),
    async latest() {
      const [message] = await messagesOf(group)
      if (!message) throw new Error('No e-mail was accepted.')
      return message
    },
  }
}
