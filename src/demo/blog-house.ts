import type { Post } from './types.ts'

/** The people, the year and what comes out of the kitchen besides bread. */
export const housePosts: Post[] = [
  {
    title: 'What the oven knows at four in the morning',
    slug: 'four-in-the-morning',
    category: 'People',
    author: 'Jun Okabe',
    excerpt: 'I asked to spend a night with the bakers. I was given an apron, a broom and the best roll of my life.',
    featured: false,
    tags: ['night shift', 'behind the scenes'],
    cover: 'shop-at-night',
    daysFromNow: -19,
    body: `
      <p>I work the counter, which means that for three years I have arrived at half past six, found four hundred
      loaves on the racks and thought of it as a kind of weather. Last week I asked Tobias whether I could come and
      see it happen. He said, "Half past two. Eat something first."</p>

      <h2>02:30</h2>

      <p>The street is dark except for our window. Tobias opens the oven door and holds his hand inside, counting
      under his breath. He gets to seven. "Good," he says, and that is the whole briefing.</p>

      <h2>04:00</h2>

      <p>Nobody talks much. Mara cuts dough and does not weigh it; I weigh a few behind her back and she is never off
      by more than the weight of a teaspoon. Loaves go from basket to peel, are slashed four times, and disappear into
      the glow. Each takes her about six seconds. My first takes me a minute and comes out looking like a map of
      Norway.</p>

      <h2>05:40</h2>

      <p>The first bread leaves the oven and starts to sing. I had heard them speak of this and assumed it was poetry.
      It is not: as the crust cools it cracks, hundreds of tiny ticks at once, and a rack of sixty loaves sounds like
      rain on dry leaves. Everybody stops for a moment to listen, and I do not think they notice that they do.</p>

      <p>At six Amina tears a roll in half, too hot to hold, and gives me the bigger half. By half past I am behind
      the counter, as always. "You look tired," says my first customer. "Is it fresh?"</p>`,
  },
  {
    title: 'A day at the mill',
    slug: 'a-day-at-the-mill',
    category: 'People',
    author: 'Mara Lindqvist',
    excerpt: 'Eighteen kilometres up the valley, two stones from 1887 turn our neighbours’ wheat into our flour.',
    featured: true,
    tags: ['flour', 'wheat', 'neighbours'],
    cover: 'mill-in-field',
    daysFromNow: -47,
    body: `
      <p>If you stand on the bridge at the end of Mill Lane you will look in vain for a mill; it burned down before
      any of us was born. The one that grinds our flour is eighteen kilometres up the valley, and it belongs to Henrik
      and Dorothea Voss, who will tell you that they belong to it.</p>

      <p>Most flour is made by steel rollers that peel a grain like an onion, keep the white middle and sell the rest
      as something else. Stones do no such thing. They crush the whole grain at once, germ and bran and all, slowly
      enough that it stays cool. The flour that comes out is the colour of sand, smells of hay, and goes off within
      weeks if you forget it, because it is still food.</p>

      <h2>Three fields</h2>

      <ul>
      <li><strong>Upper Ridge</strong> grows a tall old winter wheat that falls over in storms and tastes of
      walnuts.</li>
      <li><strong>The Bottoms</strong> is rye country: wet feet, good straw, no complaints.</li>
      <li><strong>Church Field</strong> is spelt this year, for the first time, and everyone is a little nervous.</li>
      </ul>

      <p>We pay by the acre and not by the ton. In a poor year the Vosses are not ruined, and in a good one we all eat
      more cake. It also means that we bake with what there is: after a dry summer the flour drinks more water, after
      a wet one less, and for a week each September our bread is a conversation.</p>

      <p>On the way out Dorothea put a handful of warm flour into my palm and closed my fingers over it, the way one
      gives a child a coin. "That was standing up on Tuesday," she said.</p>`,
  },
  {
    title: 'Plum tart, as Odile’s mother made it',
    slug: 'plum-tart',
    category: 'Recipes',
    author: 'Odile Marchand',
    excerpt:
      'No custard, no jam, no fuss: a short crust, a pound and a half of plums, and breadcrumbs to catch the juice.',
    featured: true,
    tags: ['plums', 'tart', 'late summer'],
    cover: 'plum-tart',
    daysFromNow: -61,
    body: `
      <p>My mother made this tart on the last Saturday of August and then on every Saturday until the plums ran out.
      She did not own scales. I have weighed what she did with cups and handfuls, and these are the numbers.</p>

      <h2>You need</h2>

      <ul>
      <li>200 g flour, 120 g cold butter, 60 g sugar, 1 egg yolk and a good pinch of salt for the crust</li>
      <li>700 g small, firm plums, stoned and cut into quarters</li>
      <li>3 tablespoons of dry breadcrumbs, from a plain loaf</li>
      <li>2 tablespoons of brown sugar and half a teaspoon of cinnamon</li>
      </ul>

      <h2>And then</h2>

      <ol>
      <li>Rub the butter into the flour, sugar and salt until it looks like wet sand. Stir in the yolk and, if it will
      not come together, a spoonful of cold water. Rest it for an hour.</li>
      <li>Press it into a 26 cm tin with your knuckles. Do not roll it; it does not want to be rolled.</li>
      <li>Scatter the breadcrumbs over the bottom. They will drink the juice, and this is the entire secret.</li>
      <li>Stand the plums in circles from the outside in, close together, skin down. They shrink, so be greedy.</li>
      <li>Bake at 190 °C for 45 minutes, until the points of the plums have caught a little. Sugar and cinnamon go on
      while it is hot.</li>
      </ol>

      <p>Eat it on the day, with cream that has been whipped by hand and not for too long. Whatever is left makes a
      breakfast about which nobody needs to be told.</p>`,
  },
  {
    title: 'Five good ends for yesterday’s bread',
    slug: 'yesterdays-bread',
    category: 'Recipes',
    author: 'Mara Lindqvist',
    excerpt: 'A stale loaf is not a failed fresh one. It is an ingredient, and it has been waiting for you.',
    featured: false,
    tags: ['leftovers', 'toast', 'soup'],
    cover: 'toasts',
    daysFromNow: -75,
    body: `
      <p>Bread does not so much dry out as change its mind. The starch that softened in the oven slowly sets again,
      and what was tender turns firm. Firm is useful: it soaks without falling apart and it toasts without burning.
      Here is what we do with ours.</p>

      <h2>1. Tomato toast</h2>
      <p>Thick slices, a hot dry pan, a clove of raw garlic rubbed over the rough side. Ripe tomatoes, more salt than
      seems right, olive oil, basil. Eat over the sink.</p>

      <h2>2. Bread soup</h2>
      <p>Onions and white beans cooked soft, a handful of torn kale, and as much torn bread as there is soup. Leave it
      for ten minutes. It should hold up a spoon.</p>

      <h2>3. Proper crumbs</h2>
      <p>Grate the ends, dry them in the cooling oven, keep them in a jar. Fried in butter with lemon peel they make a
      plate of plain spaghetti feel looked after.</p>

      <h2>4. Friday pudding</h2>
      <p>Buttered slices, three eggs, half a litre of milk, a little sugar, whatever fruit is going soft. Wait half an
      hour before it goes into the oven; the waiting is what makes it a pudding.</p>

      <h2>5. The next loaf</h2>
      <p>Toast it dark, soak it in hot water, and knead it into tomorrow's dough, up to a tenth of the flour. The new
      bread keeps longer and tastes deeper, and the circle is closed.</p>`,
  },
  {
    title: 'Find us at the Thursday market',
    slug: 'thursday-market',
    category: 'News',
    author: 'Jun Okabe',
    excerpt: 'From this week on there is a striped awning beside the fountain, and I am under it with a pile of bread.',
    featured: false,
    tags: ['market', 'opening hours'],
    cover: 'market-stall',
    daysFromNow: -118,
    body: `
      <p>For years people have asked why they have to climb Mill Lane for a loaf. There was no good answer, so we
      bought an awning. Every Thursday from eight until two you will find us on Fountain Square, between the cheese
      and the man who sharpens knives.</p>

      <h2>What we bring</h2>

      <ul>
      <li>Sourdough in both sizes, rye, and baguettes in two deliveries, at eight and at eleven</li>
      <li>Croissants, until they are gone, which is about half past nine</li>
      <li>One cake by the slice. Amina decides which, and does not take requests.</li>
      <li>Coffee, from a machine that runs off the same cargo bike that brought it</li>
      </ul>

      <p>You can also order in the shop by Wednesday noon and collect at the stall: your bag has your name on it and
      stands in the crate on the left. Bring last week's bag back and the next coffee is on us.</p>

      <p>If it rains we come anyway. If it storms we stay on Mill Lane, keep your order until closing time and feel
      bad about it.</p>`,
  },
  {
    title: 'Cardamom buns are on their way',
    slug: 'cardamom-buns',
    category: 'News',
    author: 'Amina Diallo',
    excerpt:
      'After six weeks of trials the new bun is ready. Here is what we learned about a very small, very loud seed.',
    featured: false,
    tags: ['cardamom', 'buns', 'new'],
    cover: 'tray-of-buns',
    daysFromNow: 30,
    body: `
      <p>They are here. From this morning the tray next to the cinnamon rolls holds something new: a soft bun of milk
      dough, knotted, brushed with syrup, and full of cardamom that was still in its pod yesterday.</p>

      <p>That last part is what took six weeks. Ground cardamom from a tin smells of cupboards. The seeds, crushed in
      a mortar just before they meet the butter, smell of lemon, eucalyptus and somebody else's holiday. They are also
      powerful: the first trial batch cleared Tobias's nose and very nearly the room.</p>

      <h2>Where we ended up</h2>

      <ul>
      <li>Half of the seeds go into the dough, crushed fine, where the warmth of the rise draws them out.</li>
      <li>Half go into the filling, crushed coarse, so that every few bites one of them speaks up.</li>
      <li>The sugar on top is pearl sugar. It crunches, and it looks like hail on a field.</li>
      </ul>

      <p>There will be sixty a day to begin with, from eight o'clock. Tell Jun what you think of them. He writes it
      all down, and he reads it out at breakfast.</p>`,
  },
  {
    title: 'Our hours over the winter holidays',
    slug: 'winter-holiday-hours',
    category: 'News',
    author: 'Odile Marchand',
    excerpt: 'When we are open, until when to order, and the one week in the year in which the oven sleeps.',
    featured: false,
    tags: ['opening hours', 'holidays'],
    cover: 'shop-at-night',
    daysFromNow: -200,
    archived: true,
    body: `
      <p>The weeks before the holidays are the busiest of our year, and we would like them to be the kindest as well.
      So here, in good time, is the plan.</p>

      <h2>Before</h2>

      <p>We open an hour earlier than usual, at six, and close when the shelves are empty. Orders for the last two
      days are taken until the twentieth, on paper, by me. If you telephone, please speak slowly; I write everything
      down in ink.</p>

      <h2>Between</h2>

      <p>From the twenty-fifth to the first we are closed. The oven is allowed to cool to the temperature of a warm
      bath, the bakers sleep until it is light, and the starter comes home with Mara in its jar.</p>

      <h2>After</h2>

      <p>On the second we light the fire again. The first loaves of the year are always a little wild. Come and have
      one; there will be butter on the counter.</p>`,
  },
]
