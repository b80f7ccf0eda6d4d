import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadMasterKey } from '../master-key.ts'
import type { Check, DoctorContext, Finding } from './check.ts'
import { isFile, statIfThere } from './files.ts'
import { messageOf, shellWord } from './words.ts'

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

/** Rights alone do not tell: a disk can be full, or mounted for reading only. */
async function tryToWrite(folder: string): Promise<void> {
  const path = join(folder, `.doctor-${randomBytes(9).toString('base64url')}`)
  await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  await rm(path)
}

/** Only where there is a key file: looking is not to make one. */
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
