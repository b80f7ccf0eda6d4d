import { randomBytes } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { loadMasterKey } from '../security/master-key.ts'
import { attention, type Check, type DoctorContext, type Finding, wrong } from './check.ts'
import { isFile, statIfExists } from './files.ts'
import { counted, maxExamples, messageOf, shellWord } from './format.ts'

const notAFolder = (dataDir: string, why: string): Finding[] =>
  wrong({
    what: `DATA_DIR is ${dataDir}, which cannot be used: ${why}.`,
    advice: 'Set DATA_DIR to a folder:',
    commands: ['DATA_DIR=/var/lib/sluice'],
  })

const notYet = (dataDir: string): Finding[] =>
  attention({
    what: `The data folder ${dataDir} does not exist yet.`,
    advice: 'If you expect content, DATA_DIR must be another folder. The first start creates this one:',
    commands: ['npx sluice serve'],
  })

const notWritable = (dataDir: string, why: string): Finding[] =>
  wrong({
    what: `The data folder ${dataDir} cannot be written: ${why}.`,
    advice: 'Make the user that runs Sluice its owner, or set DATA_DIR to another folder:',
    commands: [`chown -R "$(id -un)" ${shellWord(dataDir)}`],
  })

/** Permissions are not enough: a disk can be full, or mounted read-only. */
async function tryToWrite(folder: string): Promise<void> {
  const path = join(folder, `.doctor-${randomBytes(9).toString('base64url')}`)
  await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  await rm(path)
}

/** Reads the key file only if there is one: the doctor must not create it. */
async function findBadKey({ config: { dataDir, masterKey } }: DoctorContext): Promise<Finding[]> {
  const path = join(dataDir, 'master.key')
  if (masterKey || !(await isFile(path))) return []
  try {
    loadMasterKey(dataDir, undefined)
    return []
  } catch (error) {
    return wrong({
      what: `The master key cannot be used, so the service will not start: ${messageOf(error)}`,
      advice: `Restore ${path} from your backup. Without a backup, remove it: the next start makes a new key, and signed media URLs in circulation stop working.`,
    })
  }
}

export const dataFolderCheck: Check = {
  name: 'Data folder',
  async run(ctx) {
    const { dataDir } = ctx.config
    const found = await statIfExists(dataDir).catch((error: unknown) => ({ error }))
    if (found === undefined) return notYet(dataDir)
    if ('error' in found) return notAFolder(dataDir, messageOf(found.error))
    if (!found.isDirectory()) return notAFolder(dataDir, 'it is a file')
    const failure = await tryToWrite(dataDir).then(() => undefined, messageOf)
    return [...(failure === undefined ? [] : notWritable(dataDir, failure)), ...(await findBadKey(ctx))]
  },
}

/** The paths in the data folder and in its folder of databases. */
async function pathsIn(dataDir: string): Promise<string[]> {
  const folders = [dataDir, join(dataDir, 'databases')].map(async (folder) => {
    const names = await readdir(folder).catch(() => []) // another check reports that it cannot be read
    return names.map((name) => join(folder, name))
  })
  return (await Promise.all(folders)).flat()
}

const permissionsOfOthers = 0o077
const secretFile = /^(master\.key|demo\.json|.+\.sqlite(-wal|-shm)?)$/

/** Files with secrets or content are readable by their owner only. */
export const fileModesCheck: Check = {
  name: 'Rights on files',
  async run({ config: { dataDir } }) {
    const open: string[] = []
    for (const path of (await pathsIn(dataDir)).filter((each) => secretFile.test(basename(each)))) {
      const mode = (await statIfExists(path))?.mode ?? 0
      if ((mode & permissionsOfOthers) !== 0) open.push(path)
    }
    if (open.length === 0) return []
    return attention({
      what: `Other users of this machine have permissions on ${counted(open.length, 'file')} with secrets or content.`,
      advice: 'Restrict them to the owner:',
      commands: [`chmod 600 ${open.map(shellWord).join(' ')}`],
    })
  },
}

/** The doctor runs as the owner of the data, so the service cannot open a file of another user either. */
export const fileOwnersCheck: Check = {
  name: 'Owners of files',
  async run({ config: { dataDir }, machine: { uid } }) {
    if (uid === undefined || uid === 0) return [] // root may open everything
    const foreign: string[] = []
    for (const path of await pathsIn(dataDir)) {
      const found = await statIfExists(path)
      if (found && found.uid !== uid) foreign.push(path)
    }
    if (foreign.length === 0) return []
    return wrong({
      what: `${counted(foreign.length, 'file')} in the data folder ${foreign.length === 1 ? 'belongs' : 'belong'} to another user than the one that runs Sluice. Requests that need such a database are answered 503.`,
      examples: foreign.slice(0, maxExamples),
      advice: 'Change the owner, then restart the server:',
      commands: [`sudo chown -R ${uid} ${shellWord(dataDir)}`],
    })
  },
}
