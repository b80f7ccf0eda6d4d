import { hkdfSync, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const keyBytes = 32

/** The service's one secret: given, or made on the first start and kept in the data folder for its owner's eyes only. */
export function loadMasterKey(dataDir: string, given: Buffer | undefined): Buffer {
  if (given) return given
  const path = join(dataDir, 'master.key')
  const draft = join(dataDir, `master.key.${process.pid}`)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  try {
    // Written aside and linked into place: of two processes that start at once, both read the same whole key.
    writeFileSync(draft, randomBytes(keyBytes).toString('hex'), { mode: 0o600 })
    linkSync(draft, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'hex')
  if (key.length !== keyBytes) throw new Error(`${path} must hold 64 hex digits. Restore it from your backup.`)
  return key
}

/** A key for one purpose only, so that what signs media can do nothing else. */
export function deriveKey(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `sluice ${purpose}`, keyBytes))
}
