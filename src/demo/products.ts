import { withAltTexts } from './alt-texts.ts'
import type { PictureName } from './pictures.ts'
import { type MediaOf, prose } from './types.ts'

interface Offer {
  name: string
  price: string
  description: string
  picture: PictureName
  priceId: string
}

interface Product {
  id: string
  type: string
  /** A product has one offer, or names what varies and has one offer per variant. */
  offer?: Offer
  variantName?: string
  variants?: Record<string, Offer>
}

const catalogue: Product[] = [
  {
    id: 'prod_demo_sourdough',
    type: 'Bread',
    variantName: 'size',
    variants: {
      Small: {
        name: 'Sourdough loaf, small',
        price: '5.50',
        description: prose(`Five hundred grams of stoneground wheat, water, salt and two days of patience. Enough for
          two people and a pot of soup.`),
        picture: 'sourdough-small',
        priceId: 'price_demo_sourdough_small',
      },
      Large: {
        name: 'Sourdough loaf, large',
        price: '9.00',
        description: prose(`The kilo loaf we bake for families and for people who plan ahead. The thick crust keeps
          the crumb moist for five days; the last slices make the best toast.`),
        picture: 'sourdough-large',
        priceId: 'price_demo_sourdough_large',
      },
    },
  },
  {
    id: 'prod_demo_baguette',
    type: 'Bread',
    offer: {
      name: 'Baguette',
      price: '3.20',
      description: prose(`Shaped by hand, proofed overnight and baked four times a day, so that there is a warm one
        whenever you come in. Best eaten on the way home.`),
      picture: 'baguettes',
      priceId: 'price_demo_baguette',
    },
  },
  {
    id: 'prod_demo_croissant',
    type: 'Pastry',
    offer: {
      name: 'Butter croissant',
      price: '3.60',
      description: prose(`Twenty-seven layers of cultured butter and dough, rolled in a cold room by people in woolly
        hats. It should shatter, and it should leave crumbs on your coat.`),
      picture: 'croissant',
      priceId: 'price_demo_croissant',
    },
  },
  {
    id: 'prod_demo_cinnamon_roll',
    type: 'Pastry',
    offer: {
      name: 'Cinnamon roll',
      price: '4.20',
      description: prose(`A tall, soft spiral with Ceylon cinnamon and brown butter, iced while it is still warm
        enough for the icing to run.`),
      picture: 'cinnamon-roll',
      priceId: 'price_demo_cinnamon_roll',
    },
  },
  {
    id: 'prod_demo_rye_cookie',
    type: 'Pastry',
    offer: {
      name: 'Salted rye cookies, box of six',
      price: '13.50',
      description: prose(`Dark rye flour, darker chocolate and a pinch of sea salt on each. Crisp at the rim and soft
        in the middle on the first day, chewy all over on the third.`),
      picture: 'cookies',
      priceId: 'price_demo_rye_cookie',
    },
  },
  {
    id: 'prod_demo_raspberry_cake',
    type: 'Cake',
    offer: {
      name: 'Raspberry celebration cake',
      price: '48.00',
      description: prose(`Four layers of vanilla sponge with mascarpone cream under a raspberry glaze, for twelve
        people or eight honest ones. Please order two days ahead.`),
      picture: 'cake',
      priceId: 'price_demo_raspberry_cake',
    },
  },
  {
    id: 'prod_demo_espresso',
    type: 'Coffee',
    variantName: 'weight',
    variants: {
      '250 g': {
        name: 'House espresso, 250 g',
        price: '11.00',
        description: 'The beans we pour at the counter: hazelnut, dried fig and cocoa. About fourteen double shots.',
        picture: 'espresso-small',
        priceId: 'price_demo_espresso_250g',
      },
      '500 g': {
        name: 'House espresso, 500 g',
        price: '20.00',
        description: 'Two weeks of mornings for two people. Roasted on Mondays and packed whole the same evening.',
        picture: 'espresso-small',
        priceId: 'price_demo_espresso_500g',
      },
      '1 kg': {
        name: 'House espresso, 1 kg',
        price: '37.00',
        description: 'For offices and for large, cheerful kitchens. Comes with a note on how to dial in your grinder.',
        picture: 'espresso-large',
        priceId: 'price_demo_espresso_1kg',
      },
    },
  },
  {
    id: 'prod_demo_gift_card',
    type: 'Gift',
    offer: {
      name: 'Gift card',
      price: '25.00',
      description: prose(`A letterpress card in an envelope, good for bread, cake, coffee or a seat in one of our
        Sunday classes. It never expires.`),
      picture: 'gift-card',
      priceId: 'price_demo_gift_card',
    },
  },
]

const currency = 'cad'

/** What is sold, as a payment provider keeps it: one product with one price for each offer. */
export interface DemoOffer {
  product: { id: string; name: string; description: string; metadata: Record<string, string> }
  prices: { id: string; currency: string; unit_amount: number }[]
}

function toOffer(
  id: string,
  { name, description, price, priceId }: Offer,
  metadata: Record<string, string>,
): DemoOffer {
  const cents = Number(price.replace('.', ''))
  return { product: { id, name, description, metadata }, prices: [{ id: priceId, currency, unit_amount: cents }] }
}

function offersOf({ id, type: productType, offer, variantName = '', variants = {} }: Product): DemoOffer[] {
  if (offer) return [toOffer(id, offer, { productType })]
  return Object.entries(variants).map(([variant, each], position) =>
    toOffer(`${id}_${position + 1}`, each, { productType, variant_of: id, variant, variant_name: variantName }),
  )
}

export const demoOffers: readonly DemoOffer[] = catalogue.flatMap(offersOf)

/** One picture for a simple product, one per variant in the order of the variants otherwise. */
export function productPictures(media: MediaOf): Map<string, unknown> {
  const pictureOf = ({ picture }: Offer) => withAltTexts(media)(picture)
  return new Map(
    catalogue.map(({ id, offer, variants = {} }) => [
      id,
      offer
        ? pictureOf(offer)
        : Object.fromEntries(Object.entries(variants).map(([name, variant]) => [name, pictureOf(variant)])),
    ]),
  )
}
