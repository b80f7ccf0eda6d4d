import assert from 'node:assert/strict'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { seedDemo, writeDemoFile } from '../../src/demo/seed.ts'
import { createEmptyDatabase } from '../helpers/harness.ts'
import { assertOnly, assertSound, examineAll, findingsOf, patient, roomyMachine } from './patient.ts'

const unprivileged = 65_534

/** Root may write everywhere, so it temporarily becomes the user `nobody`. */
async function withoutRights<Result>(work: () => Promise<Result>): Promise<Result> {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.(unprivileged)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

describe('the doctor’s check of the machine', () => {
  it('finds nothing on a healthy service', async () => {
    assertSound(await (await patient('sqlite')).examine())
  })

  it('finds an outdated Node', async () => {
    const { examine } = await patient('sqlite')
    const machine = { ...roomyMachine, nodeVersion: '22.9.0' }
    assertOnly(await examine({ machine }), {
      check: 'Node version',
      level: 'wrong',
      what: /This is Node 22\.9\.0, and Sluice needs >=24/,
      commands: ['npm ci'],
    })
  })

  const spaces: [free: number, total: number, level: 'attention' | 'wrong', what: RegExp][] = [
    [150e6, 100e9, 'wrong', /150 MB left, 0 % of 100 GB/],
    [150e6, 300e6, 'wrong', /150 MB left, 50 % of 300 MB/],
    [900e6, 2e9, 'attention', /900 MB left/],
    [50e9, 1000e9, 'attention', /50\.0 GB left, 5 % of 1\.0 TB/],
  ]
  for (const [freeBytes, totalBytes, level, what] of spaces) {
    it(`reports that ${freeBytes / 1e6} MB of ${totalBytes / 1e6} MB are ${level}`, async () => {
      const { examine, config } = await patient('sqlite')
      const machine = { ...roomyMachine, diskSpace: async () => ({ freeBytes, totalBytes }) }
      const commands = [`du -xh -d 2 ${config.dataDir} | sort -h | tail`]
      assertOnly(await examine({ machine }), { check: 'Disk space', level, what, advice: /Free some space/, commands })
    })
  }

  it('checks the disk of the parent folder while there is no data folder, and creates none', async () => {
    const testDatabase = await createEmptyDatabase('sqlite')
    after(() => testDatabase.remove())
    const asked: string[] = []
    const machine = {
      ...roomyMachine,
      diskSpace: async (path: string) => {
        asked.push(path)
        return { freeBytes: 1, totalBytes: 1 }
      },
    }
    const results = await examineAll(readConfig({ DATA_DIR: join(testDatabase.env.DATA_DIR, 'not', 'created') }), {
      machine,
    })
    assert.deepEqual(asked, [testDatabase.env.DATA_DIR])
    assert.deepEqual(
      findingsOf(results).map(({ check, level, commands }) => [check, level, commands?.[0]?.slice(0, 18)]),
      [
        ['Data folder', 'attention', 'npx sluice serve'],
        ['Disk space', 'wrong', `du -xh -d 2 ${testDatabase.env.DATA_DIR}`.slice(0, 18)],
        ['Databases', 'attention', 'npx sluice migrate'],
      ],
    )
    await assert.rejects(chmod(join(testDatabase.env.DATA_DIR, 'not'), 0o700), /ENOENT/)
  })
})

describe('the doctor’s check of the settings', () => {
  const advised: [env: Record<string, string>, level: 'attention' | 'wrong', what: RegExp, command: string][] = [
    [
      { HOST: '0.0.0.0', MANAGE_PORT: 'off' },
      'attention',
      /HOST is 0\.0\.0\.0 and PUBLIC_URL is not set/,
      'PUBLIC_URL=https://content.example.com',
    ],
    [
      { HOST: '::', MANAGE_PORT: 'off' },
      'attention',
      /HOST is :: and PUBLIC_URL is not set/,
      'PUBLIC_URL=https://content.example.com',
    ],
    [
      { PUBLIC_URL: 'http://content.example.com:8080', MANAGE_PORT: 'off' },
      'attention',
      /are sent unencrypted/,
      'PUBLIC_URL=https://content.example.com:8080',
    ],
    [
      { PUBLIC_URL: 'http://203.0.113.7', MANAGE_PORT: 'off' },
      'attention',
      /are sent unencrypted/,
      'PUBLIC_URL=https://203.0.113.7',
    ],
    [
      { PUBLIC_URL: 'https://content.example.com' },
      'attention',
      /management API answers on the same port/,
      'MANAGE_PORT=4001 MANAGE_HOST=127.0.0.1',
    ],
    [
      { HOST: '192.168.1.5' },
      'attention',
      /management API answers on the same port/,
      'MANAGE_PORT=4001 MANAGE_HOST=127.0.0.1',
    ],
    [{ PORT: '4000', MANAGE_PORT: '4000' }, 'wrong', /PORT and MANAGE_PORT are both 4000/, 'MANAGE_PORT=4001'],
    [{ MANAGE_HOST: '127.0.0.1' }, 'attention', /MANAGE_HOST has no effect/, 'MANAGE_PORT=4001'],
    [
      { METRICS_PORT: '9464', METRICS_HOST: '0.0.0.0' },
      'attention',
      /anyone who can reach that port can read the load of the service/,
      'METRICS_TOKEN=$(openssl rand -hex 32)',
    ],
  ]
  for (const [env, level, what, command] of advised) {
    it(`gives advice on ${JSON.stringify(env)}`, async () => {
      const { examine, config } = await patient('sqlite')
      const settings = { ...config, ...readConfig({ DATA_DIR: config.dataDir, ...env }) }
      assertOnly(await examine({ config: settings }), { check: 'Settings', level, what, commands: [command] })
    })
  }

  const accepted = [
    { HOST: '0.0.0.0', PUBLIC_URL: 'https://content.example.com', MANAGE_PORT: '4001', MANAGE_HOST: '127.0.0.1' },
    { PUBLIC_URL: 'http://localhost:4000' },
    { PUBLIC_URL: 'http://10.1.2.3:4000', MANAGE_PORT: 'off' },
    { PUBLIC_URL: 'http://[::1]:4000' },
    { PUBLIC_URL: 'http://sluice.internal' },
    { PORT: '4000', MANAGE_PORT: '4000', MANAGE_HOST: '127.0.0.2' },
  ]
  for (const env of accepted) {
    it(`reports nothing about ${JSON.stringify(env)}`, async () => {
      const { examine, config } = await patient('sqlite')
      assertSound(await examine({ config: readConfig({ DATA_DIR: config.dataDir, ...env }) }))
    })
  }
})

describe('the doctor’s check of the data folder', () => {
  it('finds a file instead of the folder', async () => {
    const testDatabase = await createEmptyDatabase('sqlite')
    after(() => testDatabase.remove())
    const dataDir = join(testDatabase.env.DATA_DIR, 'file')
    await writeFile(dataDir, '')
    const [finding] = findingsOf(await examineAll(readConfig({ DATA_DIR: dataDir })))
    assert.equal(finding?.level, 'wrong')
    assert.match(finding?.what ?? '', /cannot be used: it is a file/)
    const [below] = findingsOf(await examineAll(readConfig({ DATA_DIR: join(dataDir, 'below') })))
    assert.match(below?.what ?? '', /cannot be used: ENOTDIR/)
    assert.match(below?.advice ?? '', /Set DATA_DIR to a folder/)
  })

  it('finds that it is not writable, and continues with what it can check', async () => {
    const { examine, config } = await patient('sqlite')
    await chmod(config.dataDir, 0o555)
    const results = await withoutRights(() => examine())
    await chmod(config.dataDir, 0o700)
    const [folder, key, ...others] = findingsOf(results)
    assert.equal(folder?.check, 'Data folder')
    assert.equal(folder?.level, 'wrong')
    assert.match(folder?.what ?? '', /cannot be written: EACCES/)
    assert.equal(folder?.commands?.[0], `chown -R "$(id -un)" ${config.dataDir}`)
    assert.match(key?.what ?? '', /master key cannot be used.*EACCES/)
    assert.ok(others.length > 0)
    for (const { check, what } of others) assert.match(`${check}: ${what}`, /^Databases: .*cannot be reached: EACCES/)
    const fine = results.filter(({ status }) => status === 'fine').map(({ name }) => name)
    assert.deepEqual(fine.slice(0, 4), ['Node version', 'Settings', 'Rights on files', 'Owners of files'])
  })

  it('finds an invalid master key, and creates none', async () => {
    const { examine, config } = await patient('sqlite')
    const path = join(config.dataDir, 'master.key')
    await writeFile(path, 'abc')
    assertOnly(await examine(), {
      check: 'Data folder',
      level: 'wrong',
      what: /64 hex digits/,
      advice: /Restore .*master\.key from your backup/,
    })
    await rm(path)
    assertSound(await examine())
    await assert.rejects(chmod(path, 0o600), /ENOENT/)
  })

  it('finds databases of another user, which the service cannot open', async () => {
    const { examine, config } = await patient('sqlite')
    const finding = assertOnly(await examine({ machine: { ...roomyMachine, uid: 4711 } }), {
      check: 'Owners of files',
      level: 'wrong',
      what: /belong to another user than the one that runs Sluice/,
      advice: /restart the server/,
      commands: [`sudo chown -R 4711 ${config.dataDir}`],
    })
    assert.ok(finding.examples?.includes(join(config.dataDir, 'control.sqlite')))
    assertSound(await examine({ machine: { ...roomyMachine, uid: process.getuid?.() } }))
  })

  it('finds secrets and databases that others can read', async () => {
    const { examine, config } = await patient('sqlite')
    const [key, control] = [join(config.dataDir, 'master.key'), join(config.dataDir, 'control.sqlite')]
    await chmod(key, 0o640)
    await chmod(control, 0o604)
    assertOnly(await examine(), {
      check: 'Rights on files',
      level: 'attention',
      what: /permissions on 2 files/,
      commands: [`chmod 600 ${control} ${key}`],
    })
  })

  it('finds a demo on a public service, and advises how to remove it', async () => {
    const { examine, config, service, clock } = await patient('sqlite')
    const demo = await seedDemo({ ...service, clock: () => clock.now })
    await writeDemoFile(config.dataDir, { baseUrl: 'http://127.0.0.1', ...demo })
    assertSound(await examine())
    const publicConfig = { ...config, publicUrl: 'https://content.example.com', managePort: 'off' as const }
    const results = await examine({ config: publicConfig })
    const withoutMail = results.filter(({ name }) => name !== 'E-mails') // undelivered e-mails are a separate finding
    const finding = assertOnly(withoutMail, {
      check: 'Demo content',
      level: 'attention',
      what: /holds a key and an administrator's token of the demo/,
      commands: [
        `npx sluice group delete ${demo.groupId} --confirm 'Demo Bakery'`,
        /^npx sluice user disable [0-9a-f]{24}$/,
        `rm ${join(config.dataDir, 'demo.json')}`,
      ],
    })
    assert.ok(!JSON.stringify(finding).includes(demo.adminToken))
  })
})
