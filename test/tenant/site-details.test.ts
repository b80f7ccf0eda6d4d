import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createSite, write } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { harness, onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'

async function withSite(engine: TestEngine, more: (media: (name: string) => object) => object = () => ({})) {
  const { newGroup, clock } = await harness(engine)
  const group = await newGroup({ tier: 'pro' })
  const media = (name: string) => ({ name, key: `${group.group.id}/${name}.png`, type: 'image' })
  const settings = {
    colors: {
      primary: '#111111',
      secondary: '#222222',
      surface: '#333333',
      'text-primary': '#444444',
      accent: '#555555',
    },
    logo: media('logo'),
    heroImage: media('hero'),
    businessInfo: { name: 'Demo', shipping: true, contactInfo: { email: 'a@b.c', phoneNumber: '1' } },
    socialLinks: [{ type: 'instagram', link: 'https://example.com' }],
    pages: [{ name: 'Home', slug: 'home', format: 'home', collections: [], integrations: [] }],
    ...more(media),
  }
  const site = await createSite(group.store, { name: 'Demo Bakery', domainName: 'demo.example', settings }, clock.now)
  return { group, site, settings, answer: await group.get(`/tenant/siteDetails?siteId=${site.id}`) }
}

/** Settings that are now invalid, but may have been stored by an older version. */
async function withStoredSettings(engine: TestEngine, settings: object) {
  const { group, site } = await withSite(engine)
  await write(group.store, testStartMs, async ({ db, bumpRevision }) => {
    await db
      .updateTable('sites')
      .set({ settings: JSON.stringify(settings) })
      .where('id', '=', site.id)
      .execute()
    bumpRevision()
  })
  return { site, answer: await group.get(`/tenant/siteDetails?siteId=${site.id}`) }
}

onBothEngines('GET /tenant/siteDetails', (engine) => {
  it('delivers colours, pictures, business, links and pages flat', async () => {
    const { site, settings, answer } = await withSite(engine)
    const { data } = answer.json()
    assert.equal(data._id, site.id)
    assert.equal(data.name, 'Demo Bakery')
    assert.equal(data.domainName, 'demo.example')
    assert.equal(data.tier, 'pro')
    for (const [name, colour] of Object.entries(settings.colors)) assert.equal(data[name], colour)
    assert.deepEqual(data.businessInfo, settings.businessInfo)
    const link = 'https://example.com'
    assert.deepEqual(data.socialLinks, [{ type: 'instagram', link, platform: 'instagram', url: link }])
    assert.deepEqual(data.pages, settings.pages)
    assert.equal(data.colors, undefined)
    for (const picture of ['logo', 'heroImage']) {
      assert.match(data[picture].currentFile.source, /^http.*\?expires=\d+&signature=/)
      assert.match(data[picture].currentFile.expiresAt, /^\d{4}-.*Z$/)
    }
  })

  it('delivers social links under both names, whichever was stored', async () => {
    const [type, link] = ['mastodon', 'https://social.example/@bakery']
    const written = [
      { type, link, icon: 'tusk' },
      { platform: type, url: link },
      { type, link, platform: 'Mastodon', url: `${link}/with_replies` },
    ]
    const { answer } = await withSite(engine, () => ({ socialLinks: written }))
    assert.deepEqual(answer.json().data.socialLinks, [
      { type, link, icon: 'tusk', platform: type, url: link },
      { platform: type, url: link, type, link },
      written[2],
    ])
  })

  it('signs pictures in page labels, also under siteDetails.values', async () => {
    const { answer } = await withSite(engine, (media) => ({
      pages: [{ name: 'Home', slug: 'home', labels: { title: 'Fresh', heroImage: media('page-hero') } }],
    }))
    const { data } = answer.json()
    const [{ labels }] = data.pages
    assert.equal(labels.title, 'Fresh')
    assert.match(labels.heroImage.currentFile.source, /^http.*page-hero\.png\?expires=\d+&signature=/)
    assert.deepEqual(data.siteDetails.values.pages, data.pages)
  })

  it('repeats open settings under siteDetails.values, after colours of the same name', async () => {
    const { answer, settings } = await withSite(engine, (media) => ({
      tagline: 'Bread',
      accent: 'a setting',
      navigation: { items: [media('icon')] },
      mediaFields: 'a setting',
    }))
    const { data } = answer.json()
    const { values } = data.siteDetails
    assert.deepEqual([values.tagline, values.navigation], ['Bread', data.navigation])
    assert.match(values.navigation.items[0].currentFile.source, /\?expires=/)
    assert.equal(values.accent, settings.colors.accent)
    assert.deepEqual(values.mediaFields, { logo: 'image', heroImage: 'image' })
    for (const name of ['businessInfo', 'socialLinks', '_id', 'name', 'tier']) assert.ok(!(name in values), name)
  })

  it('repeats colours, pictures and pages under siteDetails.values', async () => {
    const { settings, answer } = await withSite(engine)
    const { data } = answer.json()
    assert.deepEqual(data.siteDetails.schema, {})
    assert.deepEqual(data.siteDetails.values, {
      ...settings.colors,
      logo: data.logo,
      heroImage: data.heroImage,
      pages: data.pages,
      mediaFields: { logo: 'image', heroImage: 'image' },
    })
  })

  it('signs media at any depth of open settings', async () => {
    const { answer } = await withSite(engine, (media) => ({
      gallery: [media('a'), { deep: { deeper: [media('b')] } }],
      banner: { summer: media('c'), text: 'Hello' },
    }))
    const { data } = answer.json()
    for (const value of [data.gallery[0], data.gallery[1].deep.deeper[0], data.banner.summer]) {
      assert.match(value.currentFile.source, /\?expires=/)
    }
    assert.equal(data.banner.text, 'Hello')
  })

  it('refuses another group’s file key at any depth of the settings', async () => {
    const { newGroup, clock } = await harness(engine)
    const [group, other] = [await newGroup(), await newGroup()]
    const foreign = { name: 'x', key: `${other.group.id}/secret.png`, type: 'image' }
    const site = { name: 'Site', domainName: 'x', settings: { deep: [{ down: foreign }] } }
    await assert.rejects(createSite(group.store, site, clock.now), /does not belong to this group/)
  })

  it('lets no setting override the site’s id, name, domain or tier', async () => {
    const { site, answer } = await withStoredSettings(engine, {
      _id: 'x',
      tier: 'proplus',
      name: 'x',
      colors: { _id: 'x', domainName: 'evil.example' },
    })
    const { data } = answer.json()
    assert.deepEqual([data._id, data.name, data.domainName, data.tier], [site.id, 'Demo Bakery', 'demo.example', 'pro'])
  })

  it('lets no setting override siteDetails, and prefers a setting to a colour of the same name', async () => {
    const { answer } = await withStoredSettings(engine, {
      siteDetails: 'x',
      tagline: 'setting',
      colors: { tagline: 'colour' },
    })
    const { data } = answer.json()
    assert.deepEqual(Object.keys(data.siteDetails), ['schema', 'values'])
    assert.equal(data.tagline, 'setting')
  })

  it('omits unset values', async () => {
    const { newGroup, clock } = await harness(engine)
    const group = await newGroup()
    const site = await createSite(group.store, { name: 'Bare', domainName: '', settings: {} }, clock.now)
    const { data } = (await group.get(`/tenant/siteDetails?siteId=${site.id}`)).json()
    assert.deepEqual(data, {
      _id: site.id,
      name: 'Bare',
      domainName: '',
      tier: 'free',
      siteDetails: { schema: {}, values: { mediaFields: {} } },
    })
  })

  it('answers 404 for an unknown site', async () => {
    const { group } = await withSite(engine)
    assertFailure(await group.get('/tenant/siteDetails?siteId=66f0c0ffee0123456789abcd'), 404, 'NotFound')
  })

  it('has an ETag and answers 304', async () => {
    const { group, site, answer } = await withSite(engine)
    const again = await group.get(`/tenant/siteDetails?siteId=${site.id}`, {
      'if-none-match': String(answer.headers.etag),
    })
    assert.equal(again.statusCode, 304)
  })
})
