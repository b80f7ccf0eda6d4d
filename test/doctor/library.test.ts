import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { sharpMissing } from '../../src/media/job-handlers.ts'
import { deriveJob } from '../../src/media/job-kinds.ts'
import { insertJob } from '../../src/store/jobs/jobs.ts'
import { findFileById, saveImageDetails } from '../../src/store/media/files.ts'
import type { MediaItem } from '../../src/store/media/items.ts'
import { write } from '../helpers/authoring.ts'
import { localFolder, onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { photo, smallPicture } from '../helpers/pictures.ts'
import { s3Credentials, startS3Server } from '../helpers/s3-server.ts'
import { upload } from '../transfer/library.ts'
import { assertOnly, assertSound, findingsOf, patient, roomyMachine } from './patient.ts'

const minuteMs = 60 * 1000
const dayMs = 24 * 60 * minuteMs

/** A group with a library, and a function to add a file that an object uses. */
async function library(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await patient(engine, env)
  const group = await created.newGroup({ name: 'Gallery' })
  const { bucketName } = group.group
  const posts = await group.collection('Posts', { image: { type: 'image' }, file: { type: 'file' } })
  const put = (name: string, content: Buffer | string) => upload(created, group.group.id, name, content)
  const show = ({ name, key, type }: MediaItem) => group.add(posts, { value: { [type]: { name, key, type } } })
  return { ...created, group, bucketName, upload: put, show }
}

onBothEnginesInProve('the doctor’s check of the media library', (engine) => {
  it('finds nothing when each file exists, is being processed or is about to be', async () => {
    const { examine, upload, show, service } = await library(engine)
    await show(await upload('bread.jpg', await photo(400, 300).jpeg().toBuffer()))
    assertSound(await examine())
    await service.worker.runDue()
    assertSound(await examine())
  })

  it('finds a missing file, and a missing smaller version', async () => {
    const { examine, upload, service, bucketName, group } = await library(engine)
    const { file } = await upload('bread.jpg', await photo(400, 300).jpeg().toBuffer())
    await service.worker.runDue()
    const folder = localFolder(service, bucketName)
    const [smaller = ''] = (await findFileById(group.store, file.id))?.derivatives.map(({ key }) => key) ?? []
    for (const key of [file.key, smaller]) await rm(join(folder, key))
    const finding = assertOnly(await examine(), {
      check: 'Media files',
      level: 'wrong',
      what: /^2 files that content of Gallery shows, or its library has, are missing/,
    })
    assert.deepEqual(finding.examples?.toSorted(), [join(folder, smaller), join(folder, file.key)].toSorted())
  })

  it('finds an unused item that a sweep would remove', async () => {
    const { examine, upload, group } = await library(engine)
    await upload('recipe.txt', 'flour')
    assertSound(await examine())
    const updated_ms = Date.now() - 2 * dayMs
    await group.store.database.write((db) => db.updateTable('media').set({ updated_ms }).execute())
    assertOnly(await examine(), {
      check: 'Media files',
      level: 'attention',
      what: /^1 file of Gallery with 5 B is not used by any content/,
      commands: [`npx sluice media sweep ${group.group.id} --dry-run`],
    })
  })

  it('finds images without smaller versions, but no damaged ones', async () => {
    const { examine, upload, show, group } = await library(engine)
    const [plain, unseen, damaged] = [
      await upload('plain.png', await smallPicture('png')),
      await upload('unseen.gif', await smallPicture('gif')),
      await upload('damaged.jpg', await smallPicture('jpeg')),
    ]
    for (const media of [plain, unseen, damaged]) await show(media)
    await write(group.store, Date.now(), async (writer) => {
      await writer.db.deleteFrom('jobs').execute()
      await saveImageDetails(writer, plain.file, { problem: sharpMissing })
      await saveImageDetails(writer, damaged.file, { problem: 'The picture is damaged.' })
    })
    const finding = assertOnly(await examine(), {
      check: 'Pictures',
      level: 'attention',
      what: /^2 pictures of Gallery have no smaller sizes/,
      commands: [`npx sluice media derive ${group.group.id}`],
    })
    assert.deepEqual(finding.examples?.toSorted(), [plain.file.key, unseen.file.key].toSorted())
    await write(group.store, Date.now(), async (writer) => {
      for (const { file } of [plain, unseen]) await insertJob(writer, deriveJob(file))
    })
    assertSound(await examine())
  })

  it('finds failed jobs, by kind and with the reason', async () => {
    const { examine, group } = await library(engine)
    const ids = await write(group.store, Date.now(), async (writer) => {
      const made = []
      for (const kind of ['media.derive', 'media.derive', 'media.remove'])
        made.push(await insertJob(writer, { kind, payload: {} }))
      await writer.db.updateTable('jobs').set({ state: 'failed', due_ms: null, problem: 'the disk is full' }).execute()
      return made
    })
    const latest = ids.toSorted().at(-1)
    const finding = assertOnly(await examine(), {
      check: 'Jobs',
      level: 'attention',
      what: /^3 jobs of Gallery failed: 2 of media\.derive, 1 of media\.remove\.$/,
      commands: [
        `npx sluice job retry ${group.group.id} ${latest}`,
        `npx sluice job cancel ${group.group.id} ${latest}`,
      ],
    })
    assert.equal(finding.examples?.length, 3)
    assert.match(finding.examples?.join() ?? '', /media\.remove [0-9a-f]{24}: the disk is full/)
  })

  it('finds overdue jobs, and reports that JOB_WORKERS is 0', async () => {
    const { examine, group, config } = await library(engine)
    const dueSince = (minutes: number) =>
      write(group.store, Date.now(), (writer) =>
        insertJob(writer, { kind: 'x', payload: {}, runAtMs: Date.now() - minutes * minuteMs }),
      )
    await dueSince(9)
    assertSound(await examine())
    await dueSince(30)
    assertOnly(await examine(), {
      check: 'Jobs',
      level: 'attention',
      what: /^1 job should have begun by now, the first 30 minutes ago/,
      advice: /JOB_WORKERS is 0 here/,
      commands: ['npx sluice serve'],
    })
    assertOnly(await examine({ config: { ...config, jobWorkers: 2 } }), {
      check: 'Jobs',
      level: 'attention',
      what: /^1 job should have begun by now/,
      advice: /No server is running/,
      commands: ['JOB_WORKERS=4 npx sluice serve'],
    })
  })
})

describe('the doctor’s check of the media environment', () => {
  it('finds that sharp cannot be loaded', async () => {
    const { examine } = await library('sqlite')
    const machine = { ...roomyMachine, canDerive: async () => false }
    assertOnly(await examine({ machine }), {
      check: 'Pictures',
      level: 'attention',
      what: /^sharp cannot be loaded, so pictures are delivered in their original size only/,
      commands: ['npm ci --include=optional'],
    })
  })

  it('finds leftovers in the inbox that are older than a day', async () => {
    const { examine, config } = await library('sqlite')
    const inbox = join(config.dataDir, 'inbox')
    const [old, young] = [join(inbox, 'old'), join(inbox, 'young')]
    for (const path of [old, young]) await mkdir(path, { recursive: true })
    await utimes(old, new Date(), new Date(Date.now() - 2 * dayMs))
    const finding = assertOnly(await examine(), {
      check: 'Inbox',
      level: 'attention',
      what: /inbox contains 1 left-over of uploads that never ended/,
      commands: [/^find .+inbox -mindepth 1/],
    })
    assert.deepEqual(finding.examples, [old])
  })

  it('reports why the media settings are invalid, without creating a master key', async () => {
    const { examine, config } = await library('sqlite')
    await rm(join(config.dataDir, 'master.key'), { force: true })
    const cdn = { ...config, mediaCdnUrl: 'https://cdn.example.com' }
    assertOnly(await examine({ config: cdn }), {
      check: 'Media store',
      level: 'wrong',
      what: /the service will not start: .*are for a CDN in front of an S3 store/,
    })
    assertSound(await examine())
    assert.equal(existsSync(join(config.dataDir, 'master.key')), false)
  })
})

describe('the doctor’s check of an S3 store', () => {
  async function stored(env: Record<string, string> = {}) {
    const server = await startS3Server(['media'])
    after(() => server.stop())
    const created = await library('sqlite', {
      MEDIA_URL: server.mediaUrl,
      MEDIA_ACCESS_KEY_ID: s3Credentials.accessKeyId,
      MEDIA_SECRET_ACCESS_KEY: s3Credentials.secretAccessKey,
      ...env,
    })
    return { ...created, server }
  }

  it('finds nothing when every file exists, and names missing ones by bucket and key', async () => {
    const { examine, upload, show, service, bucketName, group } = await stored()
    const recipe = await upload('recipe.txt', 'flour')
    await show(recipe)
    assertSound(await examine())
    await service.media.storage.remove(bucketName, [recipe.file.key])
    const stray = `${group.group.id}/stray.txt`
    await service.media.storage.write(bucketName, stray, Buffer.from('stray'))
    const later = await examine({ clock: () => Date.now() + 2 * dayMs })
    const [missing, unused] = findingsOf(later).filter(({ check }) => check === 'Media files')
    assert.deepEqual(missing?.examples, [`media/${recipe.file.key}`])
    assert.deepEqual(unused?.examples, [`media/${stray}, 5 B`])
  })

  it('explains wrong credentials and a missing bucket once, and then checks no file', async () => {
    const { examine, config, newGroup } = await stored()
    const wrong = { ...config, mediaSecretAccessKey: randomBytes(20).toString('hex') }
    const results = await examine({ config: wrong })
    assertOnly(results, {
      check: 'Media store',
      level: 'wrong',
      what: /^The files of Gallery cannot be reached, in the bucket "media"\.$/,
      advice: /SignatureDoesNotMatch.+Check MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY/,
    })
    assert.equal(results.find(({ name }) => name === 'Media files')?.reason, 'the media store cannot be used')
    await newGroup({ name: 'Lost', bucketName: 'nowhere' })
    assertOnly(await examine(), {
      check: 'Media store',
      level: 'wrong',
      what: /^The files of Lost cannot be reached, in the bucket "nowhere"/,
      advice: /Create the bucket/,
    })
  })

  it('finds incomplete CDN settings', async () => {
    const { examine, config } = await stored()
    assertOnly(await examine({ config: { ...config, mediaCdnUrl: 'https://cdn.example.com' } }), {
      check: 'Media store',
      level: 'wrong',
      what: /MEDIA_CDN_URL, MEDIA_CDN_KEY_ID and MEDIA_CDN_PRIVATE_KEY belong together/,
    })
  })
})
