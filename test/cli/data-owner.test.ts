import assert from 'node:assert/strict'
import { accessSync, constants } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { actAsDataOwner, type Users } from '../../src/cli/data-owner.ts'
import { runCli } from '../helpers/process.ts'

const dataDir = '/var/lib/sluice'
const sluice = { uid: 990, gid: 991 }
const root = { uid: 0, gid: 0 }
const config = { dataDir, databaseUrl: undefined, masterKey: undefined }
const postgresConfig = { ...config, databaseUrl: 'postgres://127.0.0.1/sluice' }

/** A file system with only these paths and their owners. */
function systemWith(uid: number, owners: Record<string, typeof sluice>, failure?: string) {
  const became: unknown[] = []
  const users: Users = {
    currentUid: () => uid,
    ownerOf: (path) => owners[path],
    nameOf: (id) => new Map([[0, 'root'], [990, 'sluice']]).get(id) ?? `#${id}`, // biome-ignore format: one line
    become(owner) {
      if (failure) throw new Error(failure)
      became.push(owner)
    },
  }
  return { users, became }
}

const control = `${dataDir}/control.sqlite`
const key = `${dataDir}/master.key`

describe('a command on the data of another user', () => {
  it('run by root acts as the owner of the data, so that the service can open the files it creates', () => {
    for (const owners of [{ [control]: sluice, [dataDir]: root }, { [dataDir]: sluice }]) {
      const { users, became } = systemWith(0, owners)
      actAsDataOwner(config, 'group create', users)
      assert.deepEqual(became, [sluice])
    }
  })

  it('run by any other user is refused with the command to run, and so is a server started by root', () => {
    for (const [uid, name, ours] of [
      [1000, 'group create', '#1000'],
      [0, 'serve', 'root'],
    ] as const) {
      const { users, became } = systemWith(uid, { [control]: sluice })
      assert.throws(() => actAsDataOwner(config, name, users), {
        code: 'Forbidden',
        message: `The data in ${dataDir} belongs to the user sluice, and this runs as ${ours}. Run it as sluice, with the settings of the server:\n  sudo -u 'sluice' DATA_DIR='${dataDir}' node bin/sluice.js ${name} …`,
      })
      assert.deepEqual(became, [])
    }
  })

  it('reports why root could not become the owner', () => {
    const { users } = systemWith(0, { [control]: sluice }, 'setuid EPERM')
    assert.throws(() => actAsDataOwner(config, 'doctor', users), /sudo -u 'sluice'.*\(Switching .*setuid EPERM/s)
  })

  it('runs unchanged on its own data, on none, and on a database elsewhere', () => {
    const cases: [uid: number, config: typeof config | typeof postgresConfig, owners: Record<string, typeof sluice>][] =
      [
        [990, config, { [control]: sluice }],
        [0, config, { [control]: root, [dataDir]: sluice }],
        [1000, config, { [dataDir]: sluice }],
        [0, config, {}],
        [0, postgresConfig, { [dataDir]: sluice }],
      ]
    for (const [uid, configured, owners] of cases) {
      const { users, became } = systemWith(uid, owners)
      actAsDataOwner(configured, 'group create', users)
      assert.deepEqual(became, [])
    }
    const { users, became } = systemWith(0, { [key]: sluice })
    actAsDataOwner(postgresConfig, 'group create', users)
    assert.deepEqual(became, [sluice])
  })

  it('leaves no file of root among the service user’s data, with the real program', async () => {
    const nobody = 65_534
    const folder = await mkdtemp(join(tmpdir(), 'sluice-owner-'))
    after(() => rm(folder, { recursive: true, force: true }))
    const isRoot = process.getuid?.() === 0
    const owned = join(folder, 'data')
    await mkdir(owned)
    await chmod(folder, 0o755)
    if (isRoot) await chown(owned, nobody, nobody)
    const { code, output } = await runCli(['group', 'create', 'Shop', '--tier', 'pro'], { DATA_DIR: owned })
    // Another user cannot run a checkout readable by root only: then nothing is created, and the reason is reported.
    if (isRoot && !isOpenToOthers(join(import.meta.dirname, '../..'))) {
      assert.equal(code, 1)
      assert.match(output, /belongs to the user .*Switching to that user failed/s)
      return
    }
    assert.equal(code, 0, output)
    const owner = isRoot ? nobody : process.getuid?.()
    for (const name of ['control.sqlite', 'databases', 'databases/main.sqlite'])
      assert.equal((await stat(join(owned, name))).uid, owner, name)
  })
})

function isOpenToOthers(path: string): boolean {
  const uid = process.geteuid?.() ?? 0
  process.seteuid?.(65_534)
  try {
    accessSync(path, constants.R_OK | constants.X_OK)
    return true
  } catch {
    return false
  } finally {
    process.seteuid?.(uid)
  }
}
