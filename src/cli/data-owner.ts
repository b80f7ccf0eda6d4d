import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { AppError } from '../core/errors.ts'
import { sqlitePath } from '../store/store.ts'

/** The operating system as far as users of it are concerned. */
export interface Users {
  /** Undefined where the system knows no user ids. */
  currentUid(): number | undefined
  ownerOf(path: string): { uid: number; gid: number } | undefined
  nameOf(uid: number): string
  /** Makes this process one of that user's, for good. Throws where it may not, or where that user cannot read our code. */
  become(owner: { uid: number; gid: number }): void
}

const codeFolder = join(import.meta.dirname, '../..')

function namesInPasswd(): Map<number, string> {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return new Map(lines.map((line) => line.split(':')).map(([name = '', , uid]) => [Number(uid), name]))
}

/** The type definitions of Node leave it out. */
const withInitgroups = process as typeof process & { initgroups?(user: number, extraGroup: number): void }

export const systemUsers: Users = {
  currentUid: () => process.getuid?.(),
  ownerOf: (path) => statSync(path, { throwIfNoEntry: false }),
  nameOf(uid) {
    try {
      return namesInPasswd().get(uid) ?? `#${uid}`
    } catch {
      return `#${uid}`
    }
  },
  become({ uid, gid }) {
    process.setgid?.(gid)
    try {
      withInitgroups.initgroups?.(uid, gid)
    } catch {
      process.setgroups?.([gid]) // nobody of that id is in the user database, as in many containers
    }
    process.setuid?.(uid)
    accessSync(codeFolder, constants.R_OK | constants.X_OK)
  },
}

/** What tells whose data it is: files that the service itself has made, and for root also the folder that was prepared for it. */
function findOwner({ dataDir, databaseUrl, masterKey }: OwnedData, users: Users, isNewAllowed: boolean) {
  const usesSqlite = databaseUrl === undefined
  const paths = [
    ...(usesSqlite ? [sqlitePath(dataDir, 'control')] : []),
    ...(masterKey === undefined ? [join(dataDir, 'master.key')] : []),
    ...(usesSqlite && isNewAllowed ? [dataDir] : []),
  ]
  for (const path of paths) {
    const owner = users.ownerOf(path)
    if (owner) return owner
  }
  return undefined
}

type OwnedData = Pick<Config, 'dataDir' | 'databaseUrl' | 'masterKey'>

/**
 * Files that root makes are closed to the service's own user, whose every request would fail from then on. So root's commands
 * run as the user that the data belongs to, and anybody else's are refused. A server is started as its own user.
 */
export function actAsDataOwner(config: OwnedData, commandName: string, users: Users = systemUsers): void {
  const uid = users.currentUid()
  const canBecome = uid === 0 && commandName !== 'serve'
  const owner = findOwner(config, users, canBecome)
  if (uid === undefined || !owner || owner.uid === uid) return
  let reason = ''
  if (canBecome) {
    try {
      users.become(owner)
      return
    } catch (error) {
      reason = ` (To become that user failed: ${(error as Error).message}.)`
    }
  }
  const [name, ours] = [users.nameOf(owner.uid), users.nameOf(uid)]
  throw new AppError(
    'Forbidden',
    `The data in ${config.dataDir} belongs to the user ${name}, and this runs as ${ours}. Run it as ${name}, with the settings of the server:\n` +
      `  sudo -u '${name}' DATA_DIR='${config.dataDir}' node bin/sluice.js ${commandName} …${reason}`,
  )
}
