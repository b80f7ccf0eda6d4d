import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ownKeys } from '../../src/content/site-settings.ts'
import { verbs } from '../../src/manage/index.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { assertRefused, type Data, editing, everythingIn } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'

async function withSite(engine: TestEngine) {
  const created = await editing(engine)
  const { does, group } = created
  const posts = await does('POST', '/collections', { name: 'Posts', schema: {} })
  const pages = [{ name: 'Blog', slug: 'blog', collections: [{ collectionId: posts._id }] }]
  const settings = { colors: { primary: '#7c3aed' }, businessInfo: { name: 'Bakery' }, pages, logo: null }
  const site = await does('POST', '/sites', { name: 'Bakery', domainName: 'bakery.example', settings })
  return {
    ...created,
    posts,
    pages,
    settings,
    site,
    path: `/sites/${site._id}`,
    siteDetails: async () => (await group.get(`/tenant/siteDetails?siteId=${site._id}`)).json().data,
  }
}

describe('the help for a site’s settings', () => {
  it('names every validated key, and every reserved one', () => {
    for (const name of ['site create', 'site update']) {
      const { settings } = verbs.find((verb) => verb.name === name)?.input.properties as Record<string, Data>
      const checked = ['colors', 'logo', 'heroImage', 'businessInfo', 'socialLinks', 'pages', 'labels', 'collections']
      for (const key of [...checked, ...ownKeys]) assert.match(settings.description, new RegExp(`\\b${key}\\b`), name)
    }
  })
})

onBothEngines('sites', (engine) => {
  it('are created, listed, shown and delivered', async () => {
    const { does, site, settings, path, siteDetails, pages } = await withSite(engine)
    assert.deepEqual(site.settings, settings)
    assert.deepEqual([site.version, site.allowedOrigins, site.allowedRecipients], [1, [], []])
    const plain = await does('POST', '/sites', { name: 'Plain' })
    assert.deepEqual([plain.domainName, plain.settings], ['', {}])
    assert.deepEqual(await does('GET', '/sites'), { items: [site, plain], totalCount: 2 })
    assert.deepEqual(await does('GET', path), site)
    const delivered = await siteDetails()
    assert.deepEqual([delivered.name, delivered.primary, delivered.pages], ['Bakery', '#7c3aed', pages])
    assert.equal(delivered.siteDetails.values.primary, '#7c3aed')
  })

  it('are changed in part: each given key of the settings is replaced, null removes it', async () => {
    const { does, path, siteDetails, settings, clock } = await withSite(engine)
    clock.now += 1000
    const changes = { colors: { accent: '#fff' }, motto: { en: 'Fresh' }, businessInfo: null }
    const after = await does('PATCH', path, { version: 1, settings: changes })
    const expected = { colors: { accent: '#fff' }, pages: settings.pages, logo: null, motto: { en: 'Fresh' } }
    assert.deepEqual(after.settings, expected)
    assert.deepEqual([after.name, after.domainName, after.version], ['Bakery', 'bakery.example', 2])
    assert.equal(after.updatedAt, new Date(clock.now).toISOString())
    const delivered = await siteDetails()
    assert.deepEqual([delivered.accent, delivered.primary, delivered.motto], ['#fff', undefined, { en: 'Fresh' }])
    assert.ok(!('businessInfo' in delivered))
    await does('PATCH', path, { version: 2, name: 'Shop', domainName: '' })
    const renamed = await siteDetails()
    assert.deepEqual([renamed.name, renamed.domainName], ['Shop', ''])
  })

  it('have one page changed, added, renamed or removed, without touching the others', async () => {
    const { does, path, siteDetails, pages, posts, settings } = await withSite(engine)
    const [blog] = pages
    const slugs = async () => (await siteDetails()).pages.map(({ slug }: Data) => slug)
    const home = { name: 'Home', format: 'home', labels: { title: 'Fresh' } }
    const added = await does('PUT', `${path}/pages/home`, { version: 1, page: home })
    assert.deepEqual(added.settings, { ...settings, pages: [blog, { slug: 'home', ...home }] })
    assert.equal(added.version, 2)
    await does('PUT', `${path}/pages/about%2Fteam`, { version: 2, page: { name: 'Team', slug: 'about/team' } })
    assert.deepEqual(await slugs(), ['blog', 'home', 'about/team'])
    const journal = { name: 'Journal', slug: 'journal', collections: [{ collectionId: posts._id }] }
    const renamed = await does('PUT', `${path}/pages/blog`, { version: 3, page: journal })
    assert.deepEqual(renamed.settings.pages[0], journal)
    assert.deepEqual(await slugs(), ['journal', 'home', 'about/team'])
    await does('DELETE', `${path}/pages/about%2Fteam?version=4`)
    const after = await does('DELETE', `${path}/pages/journal?version=5`)
    assert.deepEqual([after.version, await slugs()], [6, ['home']])
  })

  it('refuse a page that is stale, invalid, missing or shows another group’s collection, and change nothing', async () => {
    const { send, path, group, newManagedGroup } = await withSite(engine)
    const theirs = await (await newManagedGroup()).collection('Posts', {})
    const before = await everythingIn(group.store)
    const put = (slug: string, page: object, version = 1) => send('PUT', `${path}/pages/${slug}`, { version, page })
    const stale = await put('blog', { name: 'Blog' }, 2)
    assertRefused(stale, 409, /The site has been changed/)
    assertRefused(await put('blog', {}), 400, /settings\.pages\[0\]\.name is required/)
    assertRefused(await put('shop', { name: 'Shop', slug: 'blog' }), 400, /slug is that of an earlier page/)
    assertRefused(await put('Shop', { name: 'Shop' }), 400, /pages\[1\]\.slug must be lower-case/)
    const foreign = { name: 'Shop', collections: [{ collectionId: theirs.id }] }
    assertRefused(await put('shop', foreign), 400, /which the group does not have/)
    assertRefused(await send('DELETE', `${path}/pages/shop?version=1`), 404, /The site has no page "shop"/)
    assertRefused(await send('DELETE', `${path}/pages/blog?version=7`), 409, /has been changed/)
    assertRefused(await send('DELETE', `${path}/pages/blog`), 400, /version is required/)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('show collections of the group only', async () => {
    const { send, posts, path, group, newManagedGroup } = await withSite(engine)
    const stranger = await newManagedGroup()
    const theirs = await stranger.collection('Posts', {})
    const before = await everythingIn(group.store)
    for (const collectionId of [theirs.id, 'f'.repeat(24)]) {
      const pages = [{ name: 'Home', slug: '', collections: [{ collectionId: posts._id }, { collectionId }] }]
      const message = new RegExp(`the collection "${collectionId}", which the group does not have`)
      assertRefused(await send('PATCH', path, { version: 1, settings: { pages } }), 400, message)
      assertRefused(await send('POST', '/sites', { name: 'New', settings: { pages } }), 400, message)
    }
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('are refused with all errors listed, and nothing is stored', async () => {
    const { send, path, group } = await withSite(engine)
    const before = await everythingIn(group.store)
    const settings = { colors: { primary: 'red-ish' }, logo: { name: 'x' }, name: 'x', pages: [{ slug: 'A' }] }
    const wrong = [
      /settings\.name cannot be set.*settings\.colors\.primary must be a colour.*settings\.logo must be/,
      /settings\.pages\[0\]\.name.*settings\.pages\[0\]\.slug/,
    ]
    for (const message of wrong) {
      assertRefused(await send('PATCH', path, { version: 1, settings }), 400, message)
      assertRefused(await send('POST', '/sites', { name: 'New', settings }), 400, message)
    }
    const lists = { allowedOrigins: ['shop.example/path'], allowedRecipients: ['invalid'], shippingCountries: ['XX'] }
    assertRefused(
      await send('PATCH', path, { version: 1, ...lists }),
      400,
      /must be an origin.*must be one e-mail address.*must be the code of a country/,
    )
    const twice = { version: 1, shippingCountries: ['CA', 'CA'] }
    assertRefused(await send('PATCH', path, twice), 400, /shippingCountries must not name anything twice/)
    assertRefused(
      await send('PATCH', path, { version: 1, domainName: 'no host' }),
      400,
      /domainName must be a host name/,
    )
    assertRefused(await send('PATCH', path, { version: 1, tier: 'pro' }), 400, /tier cannot be given here/)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('keep allowed recipients and origins private: they are not delivered, and no answer changes', async () => {
    const { does, path, siteDetails, group } = await withSite(engine)
    const [revision, delivered] = [await readRevision(group.store), await siteDetails()]
    const lists = { allowedOrigins: ['https://shop.example'], allowedRecipients: ['owner@bakery.example'] }
    const after = await does('PATCH', path, { version: 1, ...lists })
    assert.deepEqual([after.allowedOrigins, after.allowedRecipients], [lists.allowedOrigins, lists.allowedRecipients])
    assert.deepEqual(await siteDetails(), delivered)
    assert.equal(await readRevision(group.store), revision)
    assert.equal((await does('PATCH', path, { version: 2, name: 'Shop' })).allowedOrigins.length, 1)
    assert.equal(await readRevision(group.store), revision + 1)
    const emptied = await does('PATCH', path, { version: 3, allowedOrigins: [] })
    assert.deepEqual([emptied.allowedOrigins, emptied.allowedRecipients], [[], lists.allowedRecipients])
    assert.ok(!JSON.stringify(await siteDetails()).includes('owner@bakery.example'))
  })

  it('list the shipping countries, until the list is emptied', async () => {
    const { does, path } = await withSite(engine)
    const shippingCountries = ['CA', 'US']
    assert.deepEqual((await does('GET', path)).shippingCountries, [])
    const steps: [change: object, after: string[]][] = [
      [{ shippingCountries }, shippingCountries],
      [{ allowedOrigins: ['https://shop.example'] }, shippingCountries],
      [{ shippingCountries: [] }, []],
    ]
    for (const [at, [change, after]] of steps.entries())
      assert.deepEqual((await does('PATCH', path, { version: at + 1, ...change })).shippingCountries, after)
  })

  it('set who is notified of submissions, and how often, until the address is removed', async () => {
    const { does, send, path, siteDetails, group } = await withSite(engine)
    const revision = await readRevision(group.store)
    const noticesOf = ({ noticesTo, noticesRhythm }: Data) => [noticesTo, noticesRhythm]
    assert.deepEqual(noticesOf(await does('GET', path)), ['', 'each'])
    const before = await everythingIn(group.store)
    const address = /^noticesTo must be one e-mail address/
    assertRefused(await send('PATCH', path, { version: 1, noticesTo: 'invalid' }), 400, address)
    assertRefused(await send('PATCH', path, { version: 1, noticesRhythm: 'daily' }), 400, /give noticesTo, too/)
    assertRefused(
      await send('PATCH', path, { version: 1, noticesTo: 'a@shop.example', noticesRhythm: 'hourly' }),
      400,
      /noticesRhythm must be one of each, daily/,
    )
    assert.deepEqual(await everythingIn(group.store), before)
    const steps: [change: object, after: string[]][] = [
      [{ noticesTo: 'a@shop.example' }, ['a@shop.example', 'each']],
      [{ noticesRhythm: 'daily' }, ['a@shop.example', 'daily']],
      [{ shippingCountries: ['CA'] }, ['a@shop.example', 'daily']],
      [{ noticesTo: 'b@shop.example' }, ['b@shop.example', 'daily']],
      [{ noticesTo: '', noticesRhythm: 'daily' }, ['', 'each']],
    ]
    let version = 1
    for (const [change, after] of steps) {
      const site = await does('PATCH', path, { version, ...change })
      assert.deepEqual(noticesOf(site), after)
      version = site.version
    }
    assert.equal(version, 6)
    assert.equal(await readRevision(group.store), revision)
    const made = await does('POST', '/sites', { name: 'New', noticesTo: 'c@shop.example', noticesRhythm: 'daily' })
    assert.deepEqual(noticesOf(await does('GET', `/sites/${made._id}`)), ['c@shop.example', 'daily'])
    assert.ok(!JSON.stringify(await siteDetails()).includes('shop.example'))
  })

  it('are not affected by a change that changes nothing', async () => {
    const { does, path, settings, group, clock, site } = await withSite(engine)
    const before = await everythingIn(group.store)
    const { logo, ...others } = settings
    clock.now += 1000
    for (const same of [{}, { name: 'Bakery' }, { settings: others }, { settings: { gone: null } }, { allowedOrigins: [] }, { noticesTo: '', noticesRhythm: 'each' }]) // biome-ignore format: short
      assert.deepEqual(await does('PATCH', path, { version: 1, ...same }), site)
    assert.deepEqual(await everythingIn(group.store), before)
  })

  it('are deleted, while the collections that they showed stay', async () => {
    const { does, send, path, site, posts, group } = await withSite(engine)
    assert.deepEqual(await does('DELETE', path), { done: true })
    assertRefused(await send('GET', path), 404, /no such site/)
    assertRefused(await send('DELETE', path), 404, /no such site/)
    assert.equal((await group.get(`/tenant/siteDetails?siteId=${site._id}`)).statusCode, 404)
    assert.equal((await group.get(`/tenant/collectionObjects?collectionId=${posts._id}`)).statusCode, 200)
  })
})
