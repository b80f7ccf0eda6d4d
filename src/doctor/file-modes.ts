import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Check } from './check.ts'
import { statIfThere } from './files.ts'
import { counted, shellWord } from './words.ts'

const rightsOfOthers = 0o077
const secretFile = /^(master\.key|demo\.json|.+\.sqlite(-wal|-shm)?)$/

async function secretFilesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []) // that it cannot be read is another check's finding
  return names.filter((name) => secretFile.test(name)).map((name) => join(folder, name))
}

/** What holds secrets or content is for its owner's eyes only. */
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
