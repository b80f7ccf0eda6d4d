import { randomBytes } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadMasterKey } from '../security/master-key.ts'
import type { Check, DoctorContext, Finding } from './check.ts'
import { isFile, statIfThere } from './files.ts'
import { counted, maxExamples, messageOf, shellWord } from './format.ts'

const notAFolder = (dataDir: string, why: string): Finding => ({
  level: 'wrong',
  what: `DATA_DIR is ${dataDir}, which cannot be used: ${why}.`,
  advice: 'Set DATA_DIR to a folder:',
  commands: ['DATA_DIR=/var/lib/sluice'],
})

const notYet = (dataDir: string): Finding => ({
  level: 'attention',
  what: `The data folder ${dataDir} does not exist yet.`,
  advice: 'Nothing has been stored there. If you expect content, DATA_DIR is another one. The first start makes it:',
  commands: ['npx sluice serve'],
})

const notWritable = (dataDir: string, why: string): Finding => ({
  level: 'wrong',
  what: `The data folder ${dataDir} cannot be written: ${why}.`,
  advice: 'Give it to the user that runs Sluice, or set DATA_DIR to another folder:',
  commands: [`chown -R "$(id -un)" ${shellWord(dataDir)}`],
})

/** Permissions are not enough: a disk can be full, or mounted read-only. */
async function tryToWrite(folder: string): Promise<void> {
  const path = join(folder, `.doctor-${randomBytes(9).toString('base64url')}`)
  await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  await rm(path)
}

/** Only if there is a key file: the doctor must not create one. */
async function findBadKey({ config: { dataDir, masterKey } }: DoctorContext): Promise<Finding[]> {
  const path = join(dataDir, 'master.key')
  if (masterKey || !(await isFile(path))) return []
  try {
    loadMasterKey(dataDir, undefined)
    return []
  } catch (error) {
    return [
      {
        level: 'wrong',
        what: `The master key cannot be used, so the service will not start: ${messageOf(error)}`,
        advice: `Restore ${path} from your backup. Without one, remove it: the next start makes a new key, and signed media addresses that are out no longer work.`,
      },
    ]
  }
}

export const dataFolderCheck: Check = {
  name: 'Data folder',
  async run(ctx) {
    const { dataDir } = ctx.config
    const found = await statIfThere(dataDir).catch((error: unknown) => ({ error }))
    if (found === undefined) return [notYet(dataDir)]
    if ('error' in found) return [notAFolder(dataDir, messageOf(found.error))]
    if (!found.isDirectory()) return [notAFolder(dataDir, 'it is a file')]
    const obstacle = await tryToWrite(dataDir).then(() => undefined, messageOf)
    return [...(obstacle === undefined ? [] : [notWritable(dataDir, obstacle)]), ...(await findBadKey(ctx))]
  },
}

const rightsOfOthers = 0o077
const secretFile = /^(master\.key|demo\.json|.+\.sqlite(-wal|-shm)?)$/

async function secretFilesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []) // another check reports that it cannot be read
  return names.filter((name) => secretFile.test(name)).map((name) => join(folder, name))
}

/** Files with secrets or content are readable by their owner only. */
export const fileModesCheck: Check = {
  name: 'Rights on files',
  async run({ config: { dataDir } }) {
    const open: string[] = []
    for (const path of [...(await secretFilesIn(dataDir)), ...(await secretFilesIn(join(dataDir, 'databases')))]) {
      const mode = (await statIfThere(path))?.mode ?? 0
      if ((mode & rightsOfOthers) !== 0) open.push(path)
    }
    if (open.length === 0) return []
    return [
      {
        level: 'attention',
        what: `Other users of this machine have rights on ${counted(open.length, 'file')} with secrets or content.`,
        advice: 'Leave them to their owner:',
        commands: [`chmod 600 ${open.map(shellWord).join(' ')}`],
      },
    ]
  },
}

async function entriesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []) // another check reports that it cannot be read
  return names.map((name) => join(folder, name))
}

/** The doctor runs as the owner of the data, so the service cannot open a file of another user either. */
export const fileOwnersCheck: Check = {
  name: 'Owners of files',
  async run({ config: { dataDir }, machine: { uid } }) {
    if (uid === undefined || uid === 0) return [] // root may open everything
    const foreign: string[] = []
    for (const path of [...(await entriesIn(dataDir)), ...(await entriesIn(join(dataDir, 'databases')))]) {
      const found = await statIfThere(path)
      if (found && found.uid !== uid) foreign.push(path)
    }
    if (foreign.length === 0) return []
    return [
      {
        level: 'wrong',
        what: `${counted(foreign.length, 'file')} in the data folder ${foreign.length === 1 ? 'belongs' : 'belong'} to another user than the one that runs Sluice. What is in such a database is answered 503.`,
        examples: foreign.slice(0, maxExamples),
        advice: 'Give them back, then start the server again:',
        commands: [`sudo chown -R ${uid} ${shellWord(dataDir)}`],
      },
    ]
  },
}
