import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Check } from './check.ts'
import { isFolder, statIfThere } from './files.ts'
import { counted, createTally, shellWord } from './words.ts'

const dayMs = 24 * 3600 * 1000

/** Where uploads lie while they come in, and pictures while they are worked on. */
export const inboxCheck: Check = {
  name: 'Inbox',
  async run({ config, clock }) {
    const inbox = join(config.dataDir, 'inbox')
    if (!(await isFolder(inbox))) return []
    const dead = createTally()
    for (const name of await readdir(inbox)) {
      const path = join(inbox, name)
      const found = await statIfThere(path)
      if (found && clock() - found.mtimeMs > dayMs) dead.add(path)
    }
    if (dead.count === 0) return []
    return [
      {
        level: 'attention',
        what: `${inbox} holds ${counted(dead.count, 'left-over')} of uploads that never ended.`,
        examples: dead.first,
        advice:
          'A process was killed in the midst of them. The next start removes what is older than a day, or you do:',
        commands: [`find ${shellWord(inbox)} -mindepth 1 -maxdepth 1 -mtime +0 -exec rm -r {} +`],
      },
    ]
  },
}
