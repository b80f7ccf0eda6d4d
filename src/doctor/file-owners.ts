import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Check } from './check.ts'
import { statIfThere } from './files.ts'
import { counted, shellWord } from './words.ts'

const mostNamed = 5

async function entriesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []) // that it cannot be read is another check's finding
  return names.map((name) => join(folder, name))
}

/** The doctor runs as the user that the data belongs to: a file of anybody else's is closed to the service, too. */
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
        examples: foreign.slice(0, mostNamed),
        advice: 'Give them back, then start the server again:',
        commands: [`sudo chown -R ${uid} ${shellWord(dataDir)}`],
      },
    ]
  },
}
