/** Everything that a demo bakery has to say, as plain data: what is stored, and in which schema. */
import { blog } from './blog.ts'
import { faq, reviews, subscribers, team } from './people.ts'
import type { CollectionName } from './schemas.ts'
import type { ObjectsOf } from './types.ts'

/** The objects of each collection, in the order in which to create them. */
export const demoObjects: Readonly<Record<CollectionName, ObjectsOf>> = {
  Blog: blog,
  Team: team,
  Reviews: reviews,
  FAQ: faq,
  Subscribers: subscribers,
}

export { demoOffers, productPictures } from './products.ts'
export { type CollectionName, collectionNames, demoSchemas, demoSettings } from './schemas.ts'
export { demoSite } from './site.ts'
export type { DemoMedia, DemoObject, MediaOf, ObjectsOf } from './types.ts'
