import { hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { invalid } from '../core/errors.ts'

const keyBytes = 32

/** Written under a temporary name, then linked: two processes that start at once read the same, complete key. */
function makeKeyFile(path: string): void {
  // Random: process ids can be equal in containers that share a folder.
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, randomBytes(keyBytes).toString('hex'), { mode: 0o600, flag: 'wx', flush: true })
    linkSync(draft, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

const keyPath = (dataDir: string): string => join(dataDir, 'master.key')

/** The service's only secret: from the settings, or generated on the first start and stored in the data folder. */
export function loadMasterKey(dataDir: string, given: Buffer | undefined): Buffer {
  if (given) return given
  const path = keyPath(dataDir)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (!existsSync(path)) makeKeyFile(path)
  return readKeyFile(path)
}

/** Like `loadMasterKey`, but creates nothing. */
export function findMasterKey(dataDir: string, given: Buffer | undefined): Buffer | undefined {
  const path = keyPath(dataDir)
  return given ?? (existsSync(path) ? readKeyFile(path) : undefined)
}

function readKeyFile(path: string): Buffer {
  const text = readFileSync(path, 'utf8').trim()
  // `Buffer.from` would silently stop at the first invalid digit.
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw invalid(`${path} must contain 64 hex digits. Restore it from your backup.`)
  return Buffer.from(text, 'hex')
}

/** A separate key for each purpose. */
export const deriveKey = (masterKey: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', `sluice ${purpose}`, keyBytes))
