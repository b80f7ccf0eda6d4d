import type { Post } from './types.ts'

/** How things are made. */
export const craftPosts: Post[] = [
  {
    title: 'The starter is older than the shop',
    slug: 'the-starter-is-older-than-the-shop',
    category: 'Craft',
    author: 'Mara Lindqvist',
    excerpt: 'It moved house in a jam jar, survived a power cut and a customs officer, and still has to be fed by six.',
    featured: true,
    tags: ['sourdough', 'starter', 'fermentation'],
    cover: 'starter-jar',
    daysFromNow: -6,
    body: `
      <p>Before there was a sign above the door, before there was a door, there was a jar. My grandmother's neighbour
      gave it to me when I moved into my first flat: three spoonfuls of grey paste and the sentence, "It is not a pet,
      but you will feel guilty all the same." She was right on both counts.</p>

      <p>A starter is flour and water in which wild yeasts and bacteria have come to an agreement. The yeasts make
      gas, the bacteria make acid, and as long as somebody brings fresh flour the two keep everyone else out. Nothing
      about it is secret. What takes years is learning to read it.</p>

      <h2>What we look for at six in the morning</h2>

      <ul>
      <li><strong>The dome.</strong> A starter at its peak is slightly rounded on top. Once it is flat, it is
      hungry.</li>
      <li><strong>The smell.</strong> Yoghurt and green apple are good. Nail varnish means that we were late.</li>
      <li><strong>The sound.</strong> Pull it apart with a spoon and it should tear with a faint crackle.</li>
      </ul>

      <p>Ours is fed twice a day with equal weights of water and wholegrain wheat, and a little rye on Sundays because
      it seems to like Sundays. We keep it at twenty-four degrees, in glass, with a rubber band round the jar to mark
      where it began.</p>

      <h2>Take some home</h2>

      <p>If you would like to begin your own, do not begin at all: bring us a jar. A spoonful of a lively starter will
      raise a loaf within three days, and there is something pleasing about bread in forty kitchens that is, in a
      small way, all related.</p>`,
  },
  {
    title: 'Twenty-seven layers and a very cold room',
    slug: 'twenty-seven-layers',
    category: 'Craft',
    author: 'Amina Diallo',
    excerpt: 'Butter, dough, fold, wait. Most of what makes a croissant good is the waiting, and a thermometer.',
    featured: false,
    tags: ['croissant', 'lamination', 'butter'],
    cover: 'lamination',
    daysFromNow: -33,
    body: `
      <p>People imagine that lamination is a matter of strong arms. It is a matter of temperature. The butter has to
      bend like a leather strap and the dough has to be exactly as soft as the butter, so that the two can be rolled
      out together without either giving way. For us that happens at thirteen degrees, which is why the pastry room
      has the only comfortable hats in the building.</p>

      <p>We wrap a slab of butter in dough and fold the parcel in three. Then we rest it, roll it long, and fold it in
      three again, and once more after that. Three times three times three is twenty-seven: enough to make the crumb
      open like a honeycomb, and few enough that you can still taste that there are layers at all.</p>

      <h2>The three mistakes</h2>

      <ol>
      <li><strong>Too warm.</strong> The butter melts into the dough and you have made a brioche, a decent one, by
      accident.</li>
      <li><strong>Too cold.</strong> The butter cracks into tiles and the layers stop where the tiles stop.</li>
      <li><strong>Too soon.</strong> Dough that has not rested springs back, you press harder, and the layers
      smear.</li>
      </ol>

      <p>After shaping, the croissants rise for two and a half hours. They are ready when the whole tray trembles if
      you nudge it, like a plate of jelly that is trying to be polite. We bake them until they are darker than you
      expect. Pale croissants look delicate and taste of nothing.</p>

      <p>If you come in on a weekday around ten, the second batch is just out. Ask for one from the corner of the
      tray; they have the most crust, and we usually keep them for ourselves.</p>`,
  },
  {
    title: 'Why our rye takes two days',
    slug: 'why-our-rye-takes-two-days',
    category: 'Craft',
    author: 'Tobias Renner',
    excerpt: 'Rye has almost no gluten to speak of. It stands up because of acid, starch and stubbornness.',
    featured: false,
    tags: ['rye', 'sourdough', 'wholegrain'],
    cover: 'rye-slices',
    daysFromNow: -90,
    body: `
      <p>Wheat dough is a net: you stretch it, fold it, and it holds the gas for you. Rye dough is closer to wet sand.
      There is nothing to knead and nothing to stretch, and if you treat it like wheat it will sit in the tin like a
      brick that somebody has been rude to.</p>

      <p>What holds a rye loaf together is its starch, and what protects the starch is acid. So we build the sour in
      three steps over a night and a day, each a little warmer than the last, until it smells of cider and cocoa. Only
      then does the rest of the flour go in, together with yesterday's rye, toasted and soaked. Bread in bread: it
      keeps the crumb moist for a week.</p>

      <h2>How to eat it</h2>

      <p>Not today. A rye loaf that has just come from the oven is gummy, and cutting it is a waste of a good loaf.
      Wait a day, better two. Then cut it thinner than you think is reasonable and try it with:</p>

      <ul>
      <li>salted butter and radishes, in that order;</li>
      <li>smoked trout, dill and a squeeze of lemon;</li>
      <li>blue cheese and the plum jam that Odile pretends not to have.</li>
      </ul>

      <p>It is not a bread for everyone, and we bake only twenty-four a day. But those twenty-four have owners who
      would notice if we stopped, and who have told us so.</p>`,
  },
  {
    title: 'We took the oven apart, and put most of it back',
    slug: 'we-took-the-oven-apart',
    category: 'Craft',
    author: 'Tobias Renner',
    excerpt:
      'Eleven years of loaves had worn a hollow into the hearth. Replacing the floor took nine days and 212 bricks.',
    featured: false,
    tags: ['oven', 'wood fire', 'repairs'],
    cover: 'brick-oven',
    daysFromNow: -140,
    body: `
      <p>You notice it in the baguettes first. They are the longest thing we bake and they lie flat on the hearth from
      end to end, so when the middle of the hearth sinks by the thickness of a coin, the baguettes come out smiling.
      Ours had been smiling since spring.</p>

      <p>A wood-fired oven is a simple machine: a thick floor, a low dome, and a great deal of patience stored as
      heat. We burn ash and beech on the floor for three hours, sweep it clean, close the door for half an hour so
      that the heat can spread, and then bake for most of a day while the oven slowly cools. Baguettes first, at three
      hundred degrees; then the sourdough, the rye, the cakes; and at the very end a tray of meringues that dry
      overnight.</p>

      <h2>Nine days in August</h2>

      <p>We let it go cold for the first time in eleven years, which took four days by itself. Under the old bricks
      was a bed of sand, and in the sand a newspaper from the year the mill closed, a button, and one fossilised bread
      roll. The roll is on the shelf above the till. Please do not ask Jun to sell it.</p>

      <p>The new floor is 212 firebricks laid dry, without mortar, each one rubbed against its neighbour until a sheet
      of paper would not pass between them. Then came the slow part: small fires for five days, to drive the water out
      without cracking anything.</p>

      <h2>What has changed</h2>

      <p>The bottoms of the loaves are crisper, the bake is ten minutes shorter, and we use about a fifth less wood.
      The baguettes have stopped smiling. The bakers have started.</p>`,
  },
  {
    title: 'How we chose the house espresso',
    slug: 'how-we-chose-the-house-espresso',
    category: 'Craft',
    author: 'Jun Okabe',
    excerpt: 'Thirty-one samples, one very awake week, and a rule: it has to taste good next to butter.',
    featured: false,
    tags: ['coffee', 'espresso', 'breakfast'],
    cover: 'breakfast',
    daysFromNow: -104,
    body: `
      <p>Most coffee is judged on its own, in silence, by people who spit it out. Ours is drunk by somebody with a
      croissant in the other hand. That turned out to be the whole brief.</p>

      <p>Bright, citrusy coffees, the kind I make for myself at home, taste thin and sour after a bite of something
      buttery. Very dark roasts flatten everything. What we wanted was in between: enough sweetness to stand beside
      pastry, enough bitterness to cut through it, and nothing that lingers longer than the crumbs.</p>

      <h2>The blind week</h2>

      <p>We tasted thirty-one samples over five mornings, each with a corner of plain croissant and again with a slice
      of rye. Nobody knew which was which. By Wednesday Tobias was reorganising the firewood by length. By Friday four
      of us had written the same number on our slips.</p>

      <ul>
      <li><strong>Sixty parts</strong> from a washing station in the hills of western Honduras, for hazelnut and
      cocoa.</li>
      <li><strong>Forty parts</strong> from a family farm in southern Ethiopia, dried in the fruit, for fig.</li>
      </ul>

      <p>It is roasted for us on Mondays and rests until Friday, so the bag you buy on Saturday is just coming into
      its own. At home, try eighteen grams in and thirty-eight out in half a minute. And have something with butter
      ready.</p>`,
  },
]
