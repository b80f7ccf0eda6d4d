import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const installer = join(import.meta.dirname, '../../scripts/install-debian.sh')

/** Why a program cannot be installed on this machine; undefined if it can. */
export function whyNotInstalled(program: string): string | undefined {
  if (existsSync(program) || existsSync('/usr/bin/apt-get')) return undefined
  return `there is no ${program}, and no apt-get to bring it`
}

/** Installs a Debian package if its program is missing. */
export function ensureInstalled(program: string, packageName: string): void {
  if (existsSync(program)) return
  const { status, stdout, stderr } = spawnSync(installer, [packageName], { encoding: 'utf8' })
  if (!existsSync(program))
    throw new Error(`There is no ${program}, and installing ${packageName} ended with ${status}.\n${stdout}${stderr}`)
}
