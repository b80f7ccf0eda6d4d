import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import sharp from 'sharp'
import { createLogoReader } from '../../src/mail/logo.ts'
import { readSiteLook, type SiteLook } from '../../src/mail/site-look.ts'
import type { MediaStorage } from '../../src/media/storage.ts'
import { localFolder, onBothEngines, onBothEnginesInProve } from '../helpers/harness.ts'
import { fileForm } from '../helpers/manage.ts'
import { type Librarian, librarian } from '../helpers/media.ts'
import { putMessage } from '../helpers/outbox.ts'
import { animation, photo, scriptedSvg } from '../helpers/pictures.ts'

const colors = { primary: '#a53a26', surface: '#fffaf0', accent: '#00ff00' }

const lookOf = (
  { service, group }: Librarian,
  content: { siteId?: string; siteName: string } = { siteName: 'Given' },
) => readSiteLook(createLogoReader(service.media.storage), group.group, group.store, content)

/** The appearance of a site with this file as its logo. */
async function lookWithLogo(created: Librarian, file: Buffer | string, name = 'logo.png'): Promise<SiteLook> {
  const { key } = await created.add(name, file)
  await created.service.worker.runDue()
  await created.does('POST', '/sites', { name: 'A site', settings: { logo: { name, key, type: 'image' } } })
  return lookOf(created)
}

const noise = (width: number, height: number) => photo(width, height).png().toBuffer()

onBothEngines('the look of a site in e-mails', (engine) => {
  it('is that of the requested site, else of the first, else only a name', async () => {
    const created = await librarian(engine)
    assert.deepEqual(await lookOf(created), { name: 'Given', domainName: '', colors: {}, logo: undefined })
    const first = {
      name: 'First',
      domainName: 'one.example',
      settings: { colors, businessInfo: { name: 'First Ltd' } },
    }
    await created.does('POST', '/sites', first)
    const { _id: siteId } = await created.does('POST', '/sites', { name: 'Second', settings: {} })
    const second = await lookOf(created, { siteId, siteName: 'Given' })
    assert.deepEqual(second, { name: 'Second', domainName: '', colors: {}, logo: undefined })
    const { primary, surface } = colors
    const expected = { name: 'First Ltd', domainName: 'one.example', colors: { primary, surface }, logo: undefined }
    assert.deepEqual(await lookOf(created), expected)
    assert.deepEqual(await lookOf(created, { siteId: '0'.repeat(24), siteName: 'Given' }), expected)
  })

  it('never prevents reading an e-mail, even when the logo or the site itself is gone', async () => {
    const created = await librarian(engine)
    const { service, group, clock } = created
    const { key } = await created.add('logo.png', await noise(30, 30))
    const settings = { logo: { name: 'x', key, type: 'image' } }
    const { _id: siteId } = await created.does('POST', '/sites', { name: 'A site', settings })
    const mailId = await putMessage(group.store, clock.now, { content: { siteId, siteName: 'Given', title: 'Hello' } })
    await rm(localFolder(service, group.group.bucketName), { recursive: true })
    assert.match((await created.does('GET', `/mail/${mailId}`)).text, /^Hello\n\n-- \nA site\n/)
    await created.does('DELETE', `/sites/${siteId}`)
    assert.match((await created.does('GET', `/mail/${mailId}`)).text, /^Hello\n\n-- \nGiven\n/)
  })

  it('reads a logo’s file once for many e-mails, and again when it is replaced', async () => {
    const created = await librarian(engine)
    const { group, service } = created
    const { _id, key } = await created.add('logo.png', await noise(30, 30))
    await created.does('POST', '/sites', { name: 'A site', settings: { logo: { name: 'x', key, type: 'image' } } })
    let reads = 0
    const storage: MediaStorage = {
      ...service.media.storage,
      read(...location) {
        reads += 1
        return service.media.storage.read(...location)
      },
    }
    const readLogo = createLogoReader(storage)
    const look = () => readSiteLook(readLogo, group.group, group.store, { siteName: 'x' })
    const first = await look()
    for (let count = 0; count < 20; count += 1) assert.deepEqual(await look(), first)
    assert.equal(reads, 1)
    const other = await noise(40, 20)
    await created.does('PUT', `/media/${_id}/file`, fileForm('other.png', other))
    assert.ok((await look()).logo?.content.equals(other))
    assert.equal(reads, 2)
  })
})

onBothEnginesInProve('the look of a site in e-mails', (engine) => {
  it('has the original logo when every mail client can show it', async () => {
    const png = await noise(300, 150)
    const { logo } = await lookWithLogo(await librarian(engine), png)
    assert.deepEqual(
      { ...logo, content: undefined },
      { content: undefined, contentType: 'image/png', width: 128, height: 64 },
    )
    assert.ok(logo && png.equals(logo.content))
  })

  it('has a smaller version of a logo that is too large or in another format', async () => {
    const large = await noise(480, 320)
    assert.ok(large.length > 150 * 1024)
    for (const [name, file] of [
      ['logo.png', large],
      ['logo.webp', await photo(480, 320).webp().toBuffer()],
    ] as const) {
      const { logo } = await lookWithLogo(await librarian(engine), file, name)
      assert.ok(logo, name)
      assert.deepEqual([logo.contentType, logo.width, logo.height], ['image/png', 96, 64])
      const { format, width, height } = await sharp(logo.content).metadata()
      assert.deepEqual([format, width, height], ['png', 192, 128])
      assert.ok(logo.content.length <= 150 * 1024)
    }
  })

  it('has no logo when none can be shown', async () => {
    const svg = await lookWithLogo(await librarian(engine), scriptedSvg, 'logo.svg')
    assert.deepEqual([svg.name, svg.logo], ['A site', undefined])
    const moving = await lookWithLogo(await librarian(engine), await animation('webp'), 'logo.webp')
    assert.deepEqual([moving.name, moving.logo], ['A site', undefined])
  })

  it('omits a logo whose file is missing or unreadable', async () => {
    const created = await librarian(engine)
    const { key } = await created.add('logo.png', await noise(30, 30))
    await created.does('POST', '/sites', { name: 'A site', settings: { logo: { name: 'x', key, type: 'image' } } })
    const [stored = ''] = await created.stored()
    await rm(join(localFolder(created.service, created.group.group.bucketName), stored))
    assert.equal((await lookOf(created)).logo, undefined)
  })
})
