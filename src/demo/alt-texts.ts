import type { PictureName } from './pictures.ts'
import type { MediaOf } from './types.ts'

/** What each picture shows, for those who do not see it. */
const altTexts: Record<PictureName, string> = {
  logo: 'A steaming loaf between two ears of wheat, in a round terracotta seal',
  hero: 'A bakery counter at sunrise with coffee, a croissant, a berry cake, sourdough and baguettes in a basket',
  'starter-jar': 'A glass jar of bubbling sourdough starter on a wooden table by an arched window',
  'brick-oven': 'A round loaf on a peel in front of the fire of a brick oven',
  lamination: 'A rolling pin over a sheet of dough folded around a block of butter',
  'plum-tart': 'A plum tart on a white plate seen from above, with whole plums around it',
  breakfast: 'A steaming cup of coffee beside a croissant on a plate',
  'rye-slices': 'A dark rye loaf on a wooden board with three slices cut from it',
  'tray-of-buns': 'Six iced buns on a lined baking tray, seen from above',
  toasts: 'Three slices of toast with tomatoes and basil on a wooden board',
  'mill-in-field': 'A windmill behind a field of ripe wheat under a low sun',
  'market-stall': 'A market stall with a striped awning, a basket of baguettes and a pile of loaves',
  'shop-at-night': 'The bakery before dawn, its window lit and a baker at work inside',
  'sourdough-small': 'A small round sourdough loaf scored with an ear of wheat',
  'sourdough-large': 'A large round sourdough loaf scored with an ear of wheat',
  baguettes: 'Three baguettes standing in a paper bag',
  croissant: 'A golden butter croissant',
  'cinnamon-roll': 'A tall cinnamon roll with icing on a white plate',
  cookies: 'Three cookies with chunks of dark chocolate and flakes of salt',
  cake: 'A four-layer cake with pink icing and raspberries on a stand',
  'espresso-small': 'A small green bag of house espresso with a few beans beside it',
  'espresso-large': 'A large green bag of house espresso with many beans beside it',
  'gift-card': 'A red gift card with a bow in front of an open envelope',
  'portrait-mara': 'Portrait of Mara in a spotted headscarf and a terracotta apron',
  'portrait-tobias': 'Portrait of Tobias with a red beard, a white toque and a green apron',
  'portrait-amina': 'Portrait of Amina with short curls and a berry-coloured apron',
  'portrait-jun': 'Portrait of Jun with round glasses, a teal cap and a teal apron',
  'portrait-odile': 'Portrait of Odile with long grey hair, round glasses and a cream apron',
}

export function withAltTexts(media: MediaOf): MediaOf {
  return (name) => ({ ...media(name), alt: altTexts[name] })
}
