import type { BusinessInfo, Page, PageCollection } from '../../client/src/wire.ts'
import type { NewSite } from '../store/sites.ts'
import { withAltTexts } from './alt-texts.ts'
import { palette } from './drawing/palette.ts'
import type { CollectionName } from './schemas.ts'
import { type DemoMedia, type MediaOf, prose } from './types.ts'

const colors = {
  primary: palette.brick,
  secondary: palette.teal,
  hover: palette.bark,
  surface: palette.flour,
  'surface-alt': palette.oat,
  'text-primary': palette.ink,
  'text-secondary': '#7a5038',
  'text-on-primary': palette.flour,
  'text-inverse': palette.flour,
  background: palette.cream,
  accent: palette.gold,
  border: '#ead7b8',
  success: palette.forest,
  warning: palette.crust,
  danger: palette.berry,
}

const businessInfo: BusinessInfo = {
  name: 'Demo Bakery',
  description:
    prose(`A small wood-fired bakery in Alderbrook. We mill what we can, ferment everything slowly and open the door
    when the first loaves are cool enough to cut.`),
  address: { street1: '14 Mill Lane', street2: '', city: 'Alderbrook', state: 'NS', zip: 'B0J 9Z9', country: 'CA' },
  contactInfo: { email: 'hello@demo.example', phoneNumber: '+1 902 555 0142' },
  shipping: true,
  currency: 'cad',
  timeZone: 'America/Halifax',
  openingHours: [
    { days: 'Tuesday to Friday', opens: '07:00', closes: '18:00' },
    { days: 'Saturday', opens: '07:00', closes: '15:00' },
    { days: 'Sunday', opens: '08:00', closes: '12:00' },
  ],
}

const socialLinks = [
  { type: 'instagram', link: 'https://instagram.example/demo-bakery' },
  { type: 'facebook', link: 'https://facebook.example/demo-bakery' },
  { type: 'youtube', link: 'https://youtube.example/@demo-bakery' },
]

/** What site templates ask for, in the order in which they lay a page out. */
type Role = 'primary' | 'secondary' | 'supplemental' | 'sidebar'

/** As a page is stored: its pictures are signed on delivery. */
type StoredPage = Omit<Page, 'labels'> & { labels: Record<string, string | DemoMedia> }

type Binding = Pick<PageCollection, 'displayAs'> & { name: CollectionName; role: Role }

const stripe = (role: Role, displayAs: string): Page['integrations'] => [
  { type: 'stripe', name: 'stripe', role, displayAs },
]

function pagesOf(collectionIds: Readonly<Record<CollectionName, string>>, picture: MediaOf): StoredPage[] {
  const bound = (...bindings: Binding[]): PageCollection[] =>
    bindings.map((binding, order) => ({ ...binding, collectionId: collectionIds[binding.name], order, enabled: true }))
  return [
    {
      name: 'Home',
      slug: 'home',
      format: 'home',
      collections: bound(
        { name: 'Blog', role: 'primary', displayAs: 'cards' },
        { name: 'Reviews', role: 'supplemental', displayAs: 'carousel' },
        { name: 'Subscribers', role: 'sidebar', displayAs: 'form' },
      ),
      integrations: stripe('secondary', 'cards'),
      labels: {
        title: 'Bread that took its time',
        subtitle: 'Wood-fired sourdough, layered pastry and good coffee, from four in the morning in Alderbrook.',
        navLabel: 'Home',
        heroImage: picture('hero'),
      },
      displayOnHeader: true,
      displayOnFooter: false,
    },
    {
      name: 'Products',
      slug: 'products',
      format: 'products',
      collections: bound({ name: 'Reviews', role: 'secondary', displayAs: 'list' }),
      integrations: stripe('primary', 'cards'),
      labels: {
        title: 'From the shelf',
        subtitle: 'Order until noon, collect the next morning. Coffee, cookies and gift cards also travel by post.',
        navLabel: 'Shop',
        heroImage: picture('market-stall'),
      },
      displayOnHeader: true,
      displayOnFooter: true,
    },
    {
      name: 'Blog',
      slug: 'blog',
      format: 'blog',
      collections: bound({ name: 'Blog', role: 'primary', displayAs: 'cards' }),
      integrations: [],
      labels: {
        title: 'Notes from the bench',
        subtitle: 'What we bake, who grows it, and what went wrong on the way.',
        navLabel: 'Journal',
        heroImage: picture('brick-oven'),
      },
      displayOnHeader: true,
      displayOnFooter: true,
    },
    {
      name: 'About',
      slug: 'about',
      format: 'about',
      collections: bound(
        { name: 'Team', role: 'primary', displayAs: 'cards' },
        { name: 'Reviews', role: 'secondary', displayAs: 'list' },
      ),
      integrations: [],
      labels: {
        title: 'Five people and an oven',
        subtitle: 'Who we are, and why the lights are on so early.',
        navLabel: 'About',
        heroImage: picture('shop-at-night'),
      },
      displayOnHeader: true,
      displayOnFooter: true,
    },
    {
      name: 'FAQ',
      slug: 'faq',
      format: 'faq',
      collections: bound({ name: 'FAQ', role: 'primary', displayAs: 'accordion' }),
      integrations: [],
      labels: {
        title: 'Good questions',
        subtitle: 'Asked across the counter, answered with floury hands.',
        navLabel: 'FAQ',
      },
      displayOnHeader: false,
      displayOnFooter: true,
    },
    {
      name: 'Contact',
      slug: 'contact',
      format: 'contact',
      collections: bound(
        { name: 'FAQ', role: 'primary', displayAs: 'accordion' },
        { name: 'Subscribers', role: 'sidebar', displayAs: 'form' },
      ),
      integrations: [],
      labels: {
        title: 'Come by, call or write',
        subtitle: 'We answer in the afternoon, when the oven is resting.',
        navLabel: 'Contact',
      },
      displayOnHeader: true,
      displayOnFooter: true,
    },
  ]
}

export function demoSite(collectionIds: Readonly<Record<CollectionName, string>>, media: MediaOf): NewSite {
  const picture = withAltTexts(media)
  return {
    name: 'Demo Bakery',
    domainName: 'demo.example',
    settings: {
      colors,
      tagline: 'Bread that took its time',
      logo: picture('logo'),
      heroImage: picture('hero'),
      businessInfo,
      socialLinks,
      pages: pagesOf(collectionIds, picture),
    },
  }
}
