import type { ContainerSettings } from '../content/model.ts'
import type { Field } from '../content/schema.ts'

export const postCategories = ['Craft', 'Recipes', 'People', 'News']

/** The schemas of the collections, as `parseSchema` takes them. */
export const demoSchemas = {
  Blog: {
    title: { type: 'text', required: true, maxLength: 120 },
    slug: { type: 'slug', required: true, maxLength: 80 },
    category: { type: 'enum', required: true, values: postCategories },
    author: { type: 'text', required: true, maxLength: 80 },
    excerpt: { type: 'text', maxLength: 300 },
    body: { type: 'longText', required: true },
    readingMinutes: { type: 'integer', min: 1, max: 60 },
    featured: { type: 'boolean' },
    tags: { type: 'list', of: { type: 'text', maxLength: 40 }, maxItems: 10 },
    cover: { type: 'image' },
  },
  Team: {
    name: { type: 'text', required: true, maxLength: 80 },
    role: { type: 'text', required: true, maxLength: 80 },
    bio: { type: 'longText' },
    portrait: { type: 'image' },
    order: { type: 'integer', min: 0 },
  },
  Reviews: {
    rating: { type: 'integer', required: true, min: 1, max: 5 },
    title: { type: 'text', maxLength: 120 },
    body: { type: 'longText', required: true, maxLength: 2000 },
    author: { type: 'text', required: true, maxLength: 80 },
    email: { type: 'text', private: true, maxLength: 254 },
  },
  FAQ: {
    title: { type: 'text', required: true, maxLength: 200 },
    description: { type: 'longText', required: true },
    order: { type: 'integer', min: 0 },
  },
  Subscribers: {
    email: { type: 'text', required: true, private: true, maxLength: 254 },
    name: { type: 'text', maxLength: 80 },
  },
} satisfies Record<string, Record<string, Field>>

export const collectionNames = ['Blog', 'Team', 'Reviews', 'FAQ', 'Subscribers'] as const
export type CollectionName = (typeof collectionNames)[number]

/** What visitors may send in. */
export const demoSettings: Partial<Record<CollectionName, ContainerSettings>> = {
  Reviews: { accepts: ['createReview'] },
  Subscribers: { accepts: ['subscribeUser'] },
}
