import { createPreviewToken, createSite } from '../helpers/authoring.ts'
import { commonSuite, type EndpointCase } from '../helpers/common-suite.ts'
import { onBothEngines } from '../helpers/harness.ts'

const cases: EndpointCase[] = [
  {
    path: '/tenant/siteDetails',
    required: ['siteId'],
    allow: 'GET, HEAD',
    withId: (id) => `siteId=${id}`,
    async prepare(group, { clock }) {
      const site = await createSite(group.store, { name: 'Site', domainName: 'site.example', settings: {} }, clock.now)
      return { query: `siteId=${site.id}`, foreignIds: [site.id] }
    },
  },
  {
    path: '/tenant/collectionObjects',
    required: ['collectionId'],
    allow: 'GET, HEAD',
    withId: (id) => `collectionId=${id}`,
    async prepare(group) {
      const posts = await group.collection('Posts', { title: { type: 'text' } })
      await group.add(posts, { value: { title: 'Canary' } })
      return { query: `collectionId=${posts.id}`, foreignIds: [posts.id] }
    },
  },
  {
    path: '/tenant/integrationObjects',
    required: ['type'],
    allow: 'GET, HEAD',
    withId: (id) => `type=stripe&filters[_id]=${id}`,
    async prepare(group) {
      const products = await group.integration('stripe', { name: { type: 'text' } })
      const [product] = await group.add(products, {
        value: { name: 'Canary' },
        externalId: 'prod_1',
        accountHandle: 'a',
      })
      return { query: 'type=stripe', foreignIds: [product?.id ?? ''] }
    },
  },
  {
    path: '/tenant/preview',
    required: ['token'],
    allow: 'GET', // HEAD would use up a token's uses
    withId: (id) => `token=${id}`,
    async prepare(group, { clock }) {
      const posts = await group.collection('Posts', { title: { type: 'text' } })
      const [draft] = await group.add(posts, { value: { title: 'Canary' }, archived: true })
      const { token } = await createPreviewToken(group.store, { objectId: draft?.id ?? '' }, clock.now)
      return { query: `token=${token}`, foreignIds: [token] }
    },
  },
]

for (const endpoint of cases)
  onBothEngines(`GET ${endpoint.path}, as every endpoint`, (engine) => commonSuite(engine, endpoint))
