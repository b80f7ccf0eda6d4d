import type { PictureName } from './pictures.ts'

/** A picture as content refers to it. */
export interface DemoMedia {
  name: string
  key: string
  type: 'image'
  alt?: string
}

/** Keys begin with the id of the group, so whoever seeds the content makes them. */
export type MediaOf = (name: PictureName) => DemoMedia

/** An object to store. Its publish date is so many days from the moment of seeding, or unset. */
export interface DemoObject {
  value: Record<string, unknown>
  daysFromNow?: number
  archived?: boolean
}

/** An article of the blog, as its author writes it. */
export interface Post {
  title: string
  slug: string
  category: string
  author: string
  excerpt: string
  featured: boolean
  tags: string[]
  cover: PictureName
  daysFromNow: number
  archived?: boolean
  /** Simple HTML. */
  body: string
}

export type ObjectsOf<Item extends DemoObject = DemoObject> = (media: MediaOf) => Item[]

/** Lets a text run over several lines of source: blank lines part its blocks, other line ends are spaces. */
export function prose(text: string): string {
  const blocks = text.trim().split(/\n\s*\n/)
  return blocks.map((block) => block.trim().replace(/\s*\n\s*/g, ' ')).join('\n')
}
