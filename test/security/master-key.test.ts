import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { deriveKey, loadMasterKey } from '../../src/security/master-key.ts'

const moduleUrl = new URL('../../src/security/master-key.ts', import.meta.url).href
/** Reports that it is ready, waits for input, then loads the key and prints it. */
const loader = `
  const { loadMasterKey } = await import(process.argv[1])
  process.stderr.write('ready')
  process.stdin.once('data', () => {
    process.stdout.write(loadMasterKey(process.argv[2], undefined).toString('hex'))
    process.stdin.destroy()
  })`

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-master-key-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const modeOf = (path: string): number => statSync(path).mode & 0o777

/** Starts real processes, releases them together, and returns the key of each. */
async function loadInProcesses(folder: string, count: number): Promise<string[]> {
  const processes = Array.from({ length: count }, () =>
    spawn(process.execPath, ['--input-type=module', '--eval', loader, moduleUrl, folder]),
  )
  await Promise.all(processes.map(({ stderr }) => once(stderr, 'data')))
  for (const { stdin } of processes) stdin.end('go')
  return Promise.all(processes.map(({ stdout }) => text(stdout)))
}

describe('the master key', () => {
  it('is generated on first use: 32 random bytes, in a file that only its owner can read', () => {
    const folder = join(freshFolder(), 'new', 'data')
    const key = loadMasterKey(folder, undefined)
    assert.equal(key.length, 32)
    assert.equal(readFileSync(join(folder, 'master.key'), 'utf8'), key.toString('hex'))
    assert.equal(modeOf(join(folder, 'master.key')), 0o600)
    assert.equal(modeOf(folder), 0o700)
    assert.notDeepEqual(key, loadMasterKey(freshFolder(), undefined))
  })

  it('has the same mode whatever the umask of the process', () => {
    const before = process.umask(0)
    try {
      const folder = freshFolder()
      loadMasterKey(folder, undefined)
      assert.equal(modeOf(join(folder, 'master.key')), 0o600)
    } finally {
      process.umask(before)
    }
  })

  it('is generated once and never overwritten', () => {
    const folder = freshFolder()
    const key = loadMasterKey(folder, undefined)
    const { ino, mtimeNs } = statSync(join(folder, 'master.key'), { bigint: true })
    assert.deepEqual(loadMasterKey(folder, undefined), key)
    const now = statSync(join(folder, 'master.key'), { bigint: true })
    assert.deepEqual([now.ino, now.mtimeNs], [ino, mtimeNs])
    assert.deepEqual(readdirSync(folder), ['master.key'])
  })

  it('is the same for processes that start at the same moment, and no other file remains', async () => {
    for (let round = 0; round < 3; round += 1) {
      const folder = freshFolder()
      const keys = await loadInProcesses(folder, 6)
      assert.match(keys[0] ?? '', /^[0-9a-f]{64}$/)
      assert.deepEqual(new Set(keys), new Set([readFileSync(join(folder, 'master.key'), 'utf8')]))
      assert.deepEqual(readdirSync(folder), ['master.key'])
    }
  })

  it('is the configured one, if there is one, and no file is created', () => {
    const folder = freshFolder()
    const given = Buffer.alloc(32, 7)
    assert.equal(loadMasterKey(folder, given), given)
    assert.deepEqual(readdirSync(folder), [])
  })

  it('may end with a line break or be in upper case, as editors and openssl write it', () => {
    const folder = freshFolder()
    writeFileSync(join(folder, 'master.key'), `${'AB'.repeat(32)}\n`)
    assert.deepEqual(loadMasterKey(folder, undefined), Buffer.alloc(32, 0xab))
  })

  const damaged: Record<string, string | Buffer> = {
    'is empty': '',
    'was cut short': 'ab'.repeat(31),
    'lost one digit': 'ab'.repeat(32).slice(1),
    'has one digit too many': `${'ab'.repeat(32)}c`,
    'has a second key behind the first': 'ab'.repeat(64),
    'has something else behind the key': `${'ab'.repeat(32)} # old`,
    'has a wrong digit in the middle': `${'ab'.repeat(16)}xb${'ab'.repeat(15)}`,
    'holds the raw bytes': Buffer.alloc(32, 7),
    'holds zeros after a power cut': Buffer.alloc(64),
  }
  for (const [what, content] of Object.entries(damaged)) {
    it(`is refused and left unchanged when the file ${what}`, () => {
      const path = join(freshFolder(), 'master.key')
      writeFileSync(path, content)
      assert.throws(() => loadMasterKey(join(path, '..'), undefined), /master\.key must contain 64 hex digits/)
      assert.deepEqual(readFileSync(path), Buffer.from(content))
    })
  }
})

describe('deriveKey', () => {
  it('derives a distinct, reproducible key for each purpose and master key', () => {
    const master = Buffer.alloc(32, 1)
    const signing = deriveKey(master, 'media signing')
    assert.equal(signing.length, 32)
    assert.deepEqual(deriveKey(master, 'media signing'), signing)
    assert.notDeepEqual(deriveKey(master, 'something else'), signing)
    assert.notDeepEqual(deriveKey(Buffer.alloc(32, 2), 'media signing'), signing)
    assert.notDeepEqual(signing, master)
  })
})
