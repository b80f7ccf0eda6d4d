import type { ContentReads } from '../delivery/make-content.ts'
import { collectionObjects } from './collection-objects.ts'
import { integrationObjects } from './integration-objects.ts'
import { siteDetails } from './site-details.ts'

/** What makes the answers of the content endpoints; a worker thread loads these and no other endpoint. */
export const contentReads: ContentReads = {
  '/tenant/siteDetails': siteDetails.read,
  '/tenant/collectionObjects': collectionObjects.read,
  '/tenant/integrationObjects': integrationObjects.read,
}
