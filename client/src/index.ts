export { createClient, type SluiceClient } from './client.ts'
export { SluiceError } from './errors.ts'
export {
  type ImageAttributes,
  type ImageOptions,
  type ImageProps,
  imageAttributes,
  imageProps,
  pictureHtml,
} from './images.ts'
export type { ClientOptions, Fetch } from './options.ts'
export type {
  AllOptions,
  AllProductsOptions,
  CallOptions,
  CheckoutOptions,
  FilterOperators,
  Filters,
  FilterValue,
  GroupBy,
  ListOptions,
  ListProductsOptions,
  ObjectPreviewOptions,
  PreviewOptions,
  SendOptions,
  Sort,
  SortTerm,
} from './query.ts'
export { isVariant, type Offer, priceOf, type Sellable, variantsOf } from './variants.ts'
export type * from './wire.ts'
