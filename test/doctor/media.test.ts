import assert from 'node:assert/strict'
import { mkdir, rename, rm, symlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { changeObject } from '../../src/store/content/change-objects.ts'
import { createSite, write } from '../helpers/authoring.ts'
import { localFolder } from '../helpers/harness.ts'
import { assertOnly, assertSound, findingsOf, patient } from './patient.ts'

const dayMs = 24 * 3600 * 1000

/** A group with a picture in an object, one in a site, and one in a former version. */
async function gallery() {
  const created = await patient('sqlite')
  const group = await created.newGroup({ name: 'Gallery' })
  const { id, bucketName } = group.group
  const folder = localFolder(created.service, bucketName)
  const media = (name: string) => ({ name, key: `${id}/pictures/${name}.png`, type: 'image' })
  const put = async (name: string, ageMs = 2 * dayMs): Promise<string> => {
    await created.service.media.storage.write(bucketName, media(name).key, Buffer.alloc(2000))
    const path = join(folder, media(name).key)
    const seconds = (Date.now() - ageMs) / 1000
    await utimes(path, seconds, seconds)
    return path
  }
  const paths = { now: await put('now'), former: await put('former'), logo: await put('logo') }
  const posts = await group.collection('Posts', { picture: { type: 'image' } })
  const [post] = await group.add(posts, { value: { picture: media('former') } })
  assert.ok(post)
  await write(group.store, Date.now(), (writer) =>
    changeObject(writer, posts, post, { value: { picture: media('now') } }, 'updated'),
  )
  await createSite(
    group.store,
    { name: 'Site', domainName: '', settings: { logo: media('logo'), own: [{ deep: media('now') }] } },
    Date.now(),
  )
  return { ...created, group, folder, put, paths }
}

describe('the doctor’s check of files', () => {
  it('finds nothing when each file is used by an object, a site or a stored version', async () => {
    const { examine } = await gallery()
    assertSound(await examine())
  })

  it('finds missing files', async () => {
    const { examine, paths } = await gallery()
    await rm(paths.now)
    await rm(paths.logo)
    await rm(paths.former) // used by a former version only
    const finding = assertOnly(await examine(), {
      check: 'Media files',
      level: 'wrong',
      what: /^2 files that content of Gallery shows, or its library has, are missing/,
      advice: /Restore them from your backup/,
    })
    assert.deepEqual(finding.examples?.toSorted(), [paths.logo, paths.now].toSorted())
  })

  it('finds unused files, with their size, and does not delete them', async () => {
    const { examine, put, group } = await gallery()
    const unused = []
    for (let n = 0; n < 7; n += 1) unused.push(await put(`unused-${n}`))
    await put('young', 0) // it may be about to be used
    for (const _ of [1, 2]) {
      const finding = assertOnly(await examine(), {
        check: 'Media files',
        level: 'attention',
        what: /^7 files of Gallery with 14\.0 kB are not used by any content/,
        advice: /They only take up space/,
        commands: [`npx sluice media sweep ${group.group.id} --dry-run`],
      })
      assert.equal(finding.examples?.length, 5)
      for (const example of finding.examples) assert.ok(unused.some((path) => example === `${path}, 2.0 kB`))
    }
  })

  it('finds folders of groups that do not exist', async () => {
    const { examine, folder } = await gallery()
    const stray = join(folder, 'f'.repeat(24))
    await mkdir(stray)
    const finding = assertOnly(await examine(), {
      check: 'Media folders',
      level: 'attention',
      what: /^1 folder of media belongs to no group/,
      advice: /An import or a deletion was interrupted/,
      commands: [`du -sh ${stray}`],
    })
    assert.deepEqual(finding.examples, [stray])
  })

  it('follows a symbolic link to another folder, as the service does', async () => {
    const { examine, paths, config } = await gallery()
    const elsewhere = join(config.dataDir, 'elsewhere')
    await rename(dirname(paths.now), elsewhere)
    await symlink(elsewhere, dirname(paths.now))
    assertSound(await examine())
  })

  it('never leaves the group’s folder, with any stored key', async () => {
    const { examine, group } = await gallery()
    const value = { picture: { name: 'x', key: '../../../../etc/passwd', type: 'image' } }
    await group.store.database.write((db) =>
      db
        .updateTable('objects')
        .set({ value: JSON.stringify(value) })
        .execute(),
    )
    const checks = findingsOf(await examine()).map(({ check }) => check)
    assert.ok(checks.includes('Values'))
  })
})
