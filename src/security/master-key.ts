import { hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { invalid } from '../core/errors.ts'

const keyBytes = 32

/** Written aside and linked into place: of two processes that start at once, both read the same whole key. */
function makeKeyFile(path: string): void {
  // Not the process id: in containers that share a folder it is the same in all of them.
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

/** The service's one secret: given, or made on the first start and kept in the data folder for its owner's eyes only. */
export function loadMasterKey(dataDir: string, given: Buffer | undefined): Buffer {
  if (given) return given
  const path = keyPath(dataDir)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (!existsSync(path)) makeKeyFile(path)
  return readKeyFile(path)
}

/** The same without making one, for who only looks. */
export function findMasterKey(dataDir: string, given: Buffer | undefined): Buffer | undefined {
  const path = keyPath(dataDir)
  return given ?? (existsSync(path) ? readKeyFile(path) : undefined)
}

function readKeyFile(path: string): Buffer {
  const text = readFileSync(path, 'utf8').trim()
  // `Buffer.from` alone would stop at the first bad digit and say nothing.
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw invalid(`${path} must hold 64 hex digits. Restore it from your backup.`)
  return Buffer.from(text, 'hex')
}

/** A key for one purpose only, so that what signs media can do nothing else. */
export function deriveKey(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `sluice ${purpose}`, keyBytes))
}
