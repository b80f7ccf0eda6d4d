import type { ContentReads } from '../http/content-maker.ts'
import { collectionObjects } from './collection-objects.ts'
import { integrationObjects } from './integration-objects.ts'
import { siteDetails } from './site-details.ts'

/** The endpoints whose answers are kept as long as they are right. */
export const contentEndpoints = {
  '/tenant/siteDetails': siteDetails,
  '/tenant/collectionObjects': collectionObjects,
  '/tenant/integrationObjects': integrationObjects,
}

export const contentReads: ContentReads = Object.fromEntries(
  Object.entries(contentEndpoints).map(([path, { read }]) => [path, read]),
)
