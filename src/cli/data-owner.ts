import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { AppError } from '../core/errors.ts'
import { sqlitePath } from '../store/store.ts'

/** The users of the operating system. */
export interface Users {
  /** Undefined on systems without user ids. */
  currentUid(): number | undefined
  ownerOf(path: string): { uid: number; gid: number } | undefined
  nameOf(uid: number): string
  /** Switches this process to that user irrevocably. Throws if it may not, or if that user cannot read our code. */
  become(owner: { uid: number; gid: number }): void
}

const codeFolder = join(import.meta.dirname, '../..')

function namesInPasswd(): Map<number, string> {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return new Map(lines.map((line) => line.split(':')).map(([name = '', , uid]) => [Number(uid), name]))
}

/** Missing in the type definitions of Node. */
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
      process.setgroups?.([gid]) // the id is not in the user database, as in many containers
    }
    process.setuid?.(uid)
    accessSync(codeFolder, constants.R_OK | constants.X_OK)
  },
}

/** The owner of the files that the service has created; for root, also that of the folder prepared for it. */
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
 * The service's own user could not open files created by root, and every request would fail. So commands of root run as the
 * owner of the data, and commands of other users are refused. A server is started as its own user.
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
      reason = ` (Switching to that user failed: ${(error as Error).message}.)`
    }
  }
  const [name, ours] = [users.nameOf(owner.uid), users.nameOf(uid)]
  throw new AppError(
    'Forbidden',
    `The data in ${config.dataDir} belongs to the user ${name}, and this runs as ${ours}. Run it as ${name}, with the settings of the server:\n` +
      `  sudo -u '${name}' DATA_DIR='${config.dataDir}' node bin/sluice.js ${commandName} …${reason}`,
  )
}
