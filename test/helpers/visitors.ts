import type { LightMyRequestResponse } from 'fastify'
import type { Container, ContainerSettings } from '../../src/content/model.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { insertContainer } from '../../src/store/content/containers.ts'
import { write } from './authoring.ts'
import { type Harness, harness, type TestEngine, type TestGroup } from './harness.ts'

export const submissionPath = '/tenant/definedCollectionObject'

export const reviewSchema = {
  rating: { type: 'integer', required: true, min: 1, max: 5 },
  title: { type: 'text', maxLength: 120 },
  body: { type: 'longText', required: true, maxLength: 100_000 },
  author: { type: 'text', required: true, maxLength: 80 },
  email: { type: 'text', private: true, maxLength: 254 },
  photo: { type: 'image' },
}
export const subscriberSchema = {
  email: { type: 'text', required: true, private: true, maxLength: 254 },
  name: { type: 'text', maxLength: 80 },
}

export const goodReview = { rating: 5, title: 'Good bread', body: 'Every morning.', author: 'Ada' }

export const openCollection = (
  { store }: TestGroup,
  name: string,
  schema: object,
  settings: ContainerSettings,
  nowMs: number,
): Promise<Container> =>
  write(store, nowMs, (writer) =>
    insertContainer(writer, { kind: 'collection', name, schema: parseSchema(schema), settings }),
  )

/** A group that accepts reviews and subscribers from visitors. */
export interface Visitors extends Harness {
  group: TestGroup
  reviews: Container
  subscribers: Container
  send(body: object, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  review(objectValue?: object, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  subscribe(objectValue: object, headers?: Record<string, string>): Promise<LightMyRequestResponse>
}

interface Options extends NonNullable<Parameters<typeof harness>[1]> {
  /** Settings of the collection of reviews. */
  settings?: ContainerSettings
}

export async function visitors(engine: TestEngine, { settings = {}, ...options }: Options = {}): Promise<Visitors> {
  const created = await harness(engine, options)
  const { clock } = created
  const group = await created.newGroup()
  const ofReviews = { accepts: ['createReview' as const], ...settings }
  const reviews = await openCollection(group, 'Reviews', reviewSchema, ofReviews, clock.now)
  const ofSubscribers = { accepts: ['subscribeUser' as const] }
  const subscribers = await openCollection(group, 'Subscribers', subscriberSchema, ofSubscribers, clock.now)
  const send: Visitors['send'] = (body, headers) => group.post(submissionPath, body, headers)
  return {
    ...created,
    group,
    reviews,
    subscribers,
    send,
    review: (objectValue = goodReview, headers) =>
      send({ collectionId: reviews.id, type: 'createReview', objectValue }, headers),
    subscribe: (objectValue, headers) =>
      send({ collectionId: subscribers.id, type: 'subscribeUser', objectValue }, headers),
  }
}
