import { withAltTexts } from './alt-texts.ts'
import type { PictureName } from './pictures.ts'
import { type ObjectsOf, prose } from './types.ts'

interface Member {
  name: string
  role: string
  portrait: PictureName
  bio: string
}

const members: Member[] = [
  {
    name: 'Mara Lindqvist',
    role: 'Founder and head baker',
    portrait: 'portrait-mara',
    bio: `Mara trained as a bridge engineer and still draws her loaves in section before she bakes them. She opened
      the shop with one deck oven, a borrowed mixer and a starter in a jam jar, and she tastes every dough before it
      is shaped.`,
  },
  {
    name: 'Tobias Renner',
    role: 'Bread baker',
    portrait: 'portrait-tobias',
    bio: `Tobias lights the oven at half past two and talks to it until the others arrive. He looks after the rye, the
      baguettes and the firewood, and can tell by the sound of a crust whether the loaf wants another minute.`,
  },
  {
    name: 'Amina Diallo',
    role: 'Pastry chef',
    portrait: 'portrait-amina',
    bio: `Amina came to us from a hotel kitchen with four hundred covers and asked for a small cold room and a radio.
      The croissants, the cakes and all the good ideas with cardamom are hers.`,
  },
  {
    name: 'Jun Okabe',
    role: 'Coffee and counter',
    portrait: 'portrait-jun',
    bio: `Jun remembers what you had last Saturday. He chooses the beans, runs the Thursday market stall and writes
      the chalkboard, including the drawings.`,
  },
  {
    name: 'Odile Marchand',
    role: 'Books, orders and plums',
    portrait: 'portrait-odile',
    bio: `Odile kept the accounts of a shipyard for thirty years and finds a bakery restful. She answers the
      telephone, arranges the deliveries and, for six weeks in late summer, stones plums faster than anyone in the
      county.`,
  },
]

export const team: ObjectsOf = (media) =>
  members.map(({ portrait, bio, ...member }, order) => ({
    value: { ...member, bio: prose(bio), portrait: withAltTexts(media)(portrait), order },
  }))

interface Review {
  rating: number
  title: string
  body: string
  author: string
  email: string
  daysFromNow: number
}

const reviewList: Review[] = [
  {
    rating: 5,
    title: 'My children now have opinions about crust',
    body: `We bought one small loaf out of curiosity in March. We are now a large-loaf household, and my
      seven-year-old asks whether it is "from the good oven". It is.`,
    author: 'Priya N.',
    email: 'priya.n@example.com',
    daysFromNow: -4,
  },
  {
    rating: 5,
    title: 'The croissant others are measured by',
    body: `Proper lamination, proper butter, baked dark enough to taste of something. I have driven forty minutes for
      it and did not feel foolish.`,
    author: 'Laurent B.',
    email: 'laurent.b@example.org',
    daysFromNow: -11,
  },
  {
    rating: 4,
    title: 'Wonderful, if you are early',
    body: `By eleven on a Saturday the cinnamon rolls are gone, which is a star off for my own laziness. Order ahead
      online; it works, and they write your name on the bag.`,
    author: 'Hannah W.',
    email: 'hannah.w@example.com',
    daysFromNow: -23,
  },
  {
    rating: 5,
    title: 'They saved a wedding',
    body: `Our caterer cancelled on a Wednesday. On Saturday there were three raspberry cakes on the table, and the
      last guest left with the last slice in a napkin. Thank you, Amina.`,
    author: 'Marcus and Elle',
    email: 'marcus.elle@example.net',
    daysFromNow: -38,
  },
  {
    rating: 4,
    title: 'Serious rye',
    body: `Dense, sour and honest. I grew up with this bread a long way from here and had stopped looking for it. I
      would love a version with caraway.`,
    author: 'Ingrid S.',
    email: 'ingrid.s@example.com',
    daysFromNow: -52,
  },
  {
    rating: 5,
    title: 'Coffee that does not shout',
    body: `The house espresso is round and sweet and still tastes of coffee with milk in it. Jun spent ten minutes
      helping me with my grinder and sold me nothing.`,
    author: 'Dev K.',
    email: 'dev.k@example.org',
    daysFromNow: -69,
  },
  {
    rating: 3,
    title: 'Great bread, tricky parking',
    body: `No complaints about anything that comes out of the oven. Mill Lane is narrow, though, and the market makes
      it narrower. Come on foot if you can.`,
    author: 'Robert T.',
    email: 'robert.t@example.com',
    daysFromNow: -83,
  },
  {
    rating: 5,
    title: 'The Sunday class is worth the alarm clock',
    body: `Four hours, eight people, one very calm baker. I went home with two loaves, a jar of starter and the
      courage to use them. The starter is called Gerald and is doing well.`,
    author: 'Sofia M.',
    email: 'sofia.m@example.net',
    daysFromNow: -101,
  },
]

export const reviews: ObjectsOf = () =>
  reviewList.map(({ daysFromNow, body, ...review }) => ({ value: { ...review, body: prose(body) }, daysFromNow }))

export const subscribers: ObjectsOf = () => [
  { value: { email: 'clara.jensen@example.com', name: 'Clara' } },
  { value: { email: 'omar.haddad@example.org', name: 'Omar' } },
  { value: { email: 'beatrix.lowe@example.net', name: 'Beatrix' } },
]

const questions: [title: string, description: string][] = [
  [
    'Do you use commercial yeast?',
    `<p>Not in the breads: those rise on our own starter alone. The croissant and cinnamon roll doughs get a little
      fresh yeast beside the starter, because butter is heavy and mornings are short.</p>`,
  ],
  [
    'How should I keep a loaf?',
    `<p>Cut side down on a board for the first two days, then in a cloth or a paper bag. Never in the refrigerator,
      where bread goes stale fastest. A whole loaf freezes well for a month; slice it first and toast from frozen.</p>`,
  ],
  [
    'Is anything gluten-free?',
    `<p>The flourless almond cake on Fridays is made without wheat, but it is made in a room full of flour. We cannot
      call it safe for anyone with coeliac disease, and we would rather say so.</p>`,
  ],
  [
    'Until when can I order for tomorrow?',
    `<p>Until noon for bread and pastry, because the doughs are mixed in the afternoon. Celebration cakes need two
      full days, three if there is lettering.</p>`,
  ],
  [
    'Do you deliver?',
    `<p>Within Alderbrook by cargo bike, Tuesday to Saturday, between eight and eleven. Coffee, cookies and gift cards
      go by post to anywhere in the country and usually take <strong>two to four days</strong>.</p>`,
  ],
  [
    'What happens to the bread you do not sell?',
    `<p>Very little is left. What is goes to the Alderbrook food pantry at closing time; the ends become breadcrumbs
      and the Friday bread pudding.</p>`,
  ],
  [
    'Can I have some of your starter?',
    `<p>Yes, gladly. Bring a clean jar with a lid on any weekday afternoon, and we will give you a spoonful and a page
      of instructions. All we ask is that you name it and tell us the name.</p>`,
  ],
  [
    'Do you teach?',
    `<p>On the first Sunday of each month, for eight people at a time. The class costs the same as four gift cards,
      includes breakfast and ends with:</p>

      <ul><li>two loaves that you shaped yourself,</li><li>a jar of starter,</li><li>flour on your shoes.</li></ul>`,
  ],
]

export const faq: ObjectsOf = () =>
  questions.map(([title, description], order) => ({ value: { title, description: prose(description), order } }))
