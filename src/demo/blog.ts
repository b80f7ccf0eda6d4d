import { withAltTexts } from './alt-texts.ts'
import { craftPosts } from './blog-craft.ts'
import { housePosts } from './blog-house.ts'
import { type ObjectsOf, prose } from './types.ts'

/** An unhurried pace: some of it is recipes. */
const wordsPerMinute = 130

function minutesToRead(html: string): number {
  const words = html.replace(/<[^>]*>/g, ' ').match(/\S+/g) ?? []
  return Math.max(1, Math.ceil(words.length / wordsPerMinute))
}

/** Oldest first, as a bakery would have written them. */
const posts = [...craftPosts, ...housePosts].sort((a, b) => a.daysFromNow - b.daysFromNow)

export const blog: ObjectsOf = (media) =>
  posts.map(({ daysFromNow, archived = false, cover, body, ...post }) => ({
    value: { ...post, body: prose(body), readingMinutes: minutesToRead(body), cover: withAltTexts(media)(cover) },
    daysFromNow,
    archived,
  }))
