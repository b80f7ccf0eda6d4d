import type { NewObject } from '../src/store/content/objects.ts'
import { type Drawing, drawing } from './random.ts'

/** What the bench fills a service with: posts such as blogs have them, the same ones on every machine. */
export const categories = [
  'Bread', 'Cakes', 'Craft', 'Events', 'Gardening', 'History', 'Interviews', 'News', 'Recipes', 'Reviews', 'Travel', 'Wine',
] // biome-ignore format: two lines read better
const tags = ['autumn', 'beginners', 'classic', 'quick', 'rye', 'sourdough', 'spring', 'summer', 'sweet', 'winter']
const words =
  'the oven was warm before anybody came and a loaf takes its time with water salt flour hands some patience it rests on wood until morning light'.split(
    ' ',
  )
const sentenceOf = ({ from }: Drawing, length: number): string => Array.from({ length }, () => from(words)).join(' ')
/** Of a supply, so that a million posts are made in a minute. */
const paragraphs = Array.from({ length: 500 }, (_, number) => `<p>${sentenceOf(drawing(`p${number}`), 30)}.</p>`)
/** A word that every other post contains. */
export const wordOfHalf = 'kneaded'
/** As JSON. */
const postBytes = 2048
const dayMs = 86_400_000
const firstDayMs = Date.UTC(2016, 0, 1)
const daysOfPosts = 3650
/** When what is scheduled comes: not while anybody measures. */
const scheduledMs = Date.UTC(2090, 0, 1)
/** One hidden post comes on top of so many visible ones. */
export const visiblePerHidden = 50
/** As long as there are fewer posts than this, every other hidden one is scheduled. A queue does not grow with what came out of it. */
const postsWithScheduled = 10_000

export const postSchema = {
  title: { type: 'text', required: true, maxLength: 120 },
  slug: { type: 'slug', required: true },
  category: { type: 'enum', required: true, values: categories },
  price: { type: 'decimal', min: 0 },
  rating: { type: 'integer', min: 1, max: 5 },
  tags: { type: 'list', of: { type: 'text' } },
  date: { type: 'date' },
  body: { type: 'longText', required: true },
}

export const reviewSchema = {
  rating: { type: 'integer', required: true, min: 1, max: 5 },
  title: { type: 'text', maxLength: 120 },
  body: { type: 'longText', required: true, maxLength: 2000 },
  author: { type: 'text', required: true, maxLength: 80 },
}

export function makeReview(number: number): Record<string, unknown> {
  const body = sentenceOf(drawing(number), 40)
  return { rating: 1 + (number % 5), title: `Review ${number}`, body, author: 'A visitor' }
}

/** The post of this number. The larger half of it is HTML. */
export function makePost(number: number): Record<string, unknown> {
  const draw = drawing(number)
  const { below, from } = draw
  const title = `${sentenceOf(draw, 5)} ${Math.abs(number)}`
  const value = {
    title,
    slug: title.replaceAll(' ', '-'),
    category: from(categories),
    price: (below(10_000) / 100).toFixed(2),
    rating: 1 + below(5),
    tags: [from(tags.slice(0, 5)), from(tags.slice(5))],
    date: new Date(firstDayMs + below(daysOfPosts) * dayMs).toISOString().slice(0, 10),
    body: '',
  }
  const room = postBytes - Buffer.byteLength(JSON.stringify(value))
  let body = number % 2 === 0 ? `<p>It is ${wordOfHalf} twice.</p>` : ''
  while (body.length < room) body += from(paragraphs)
  return { ...value, body: `${body.slice(0, room - 4).replace(/<[^>]*$/, '')}</p>`.padEnd(room) }
}

/** So many visible posts from this number on, and the hidden ones between them: archived, and some scheduled. */
export function makePosts(first: number, count: number): NewObject[] {
  const numbers = Array.from({ length: count }, (_, position) => first + position)
  return numbers.flatMap((number): NewObject[] => {
    const visible = { value: makePost(number), publishMs: firstDayMs + (number % daysOfPosts) * dayMs }
    if (number % visiblePerHidden !== 0) return [visible]
    const isScheduled = number % (2 * visiblePerHidden) === 0 && number < postsWithScheduled
    return [
      visible,
      { value: makePost(-number - 1), ...(isScheduled ? { publishMs: scheduledMs } : { archived: true }) },
    ]
  })
}

export const siteInput = {
  name: 'Bench',
  domainName: 'bench.example',
  settings: {
    colors: { primary: '#7c3aed', secondary: '#0f766e', surface: '#ffffff', 'text-primary': '#111827' },
    businessInfo: {
      name: 'Bench',
      description: 'A site that is only here to be asked for.',
      address: { street1: '1 Mill Lane', street2: '', city: 'Alderbrook', state: 'NS', zip: 'B0J 9Z9', country: 'CA' },
      contactInfo: { email: 'hello@bench.example', phoneNumber: '+1 902 555 0142' },
      shipping: true,
    },
    socialLinks: [{ type: 'instagram', link: 'https://instagram.example/bench' }],
    pages: ['Home', 'Blog', 'Products', 'Team', 'Contact'].map((name) => ({
      name,
      slug: name.toLowerCase(),
      format: name.toLowerCase(),
      collections: [],
      integrations: [],
      labels: { title: name, subtitle: `All about ${name.toLowerCase()}`, navLabel: name },
      displayOnHeader: true,
      displayOnFooter: false,
    })),
  },
}
