import type { ContentReads } from '../delivery/make-content.ts'
import { collectionObjects } from './collection-objects.ts'
import { integrationObjects } from './integration-objects.ts'
import { siteDetails } from './site-details.ts'

/** The `read` functions of the content endpoints, which are all that a worker thread loads. */
export const contentReads: ContentReads = {
  '/tenant/siteDetails': siteDetails.read,
  '/tenant/collectionObjects': collectionObjects.read,
  '/tenant/integrationObjects': integrationObjects.read,
}
