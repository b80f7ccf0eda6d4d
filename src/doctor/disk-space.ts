import { dirname } from 'node:path'
import type { Check } from './check.ts'
import { isFolder } from './files.ts'
import { inBytes, shellWord } from './words.ts'

const least = { wrong: 200e6, attention: 1e9, share: 0.1 }

/** The folder itself, or the one in which it would be made. */
async function nearestFolder(path: string): Promise<string> {
  return (await isFolder(path)) || dirname(path) === path ? path : nearestFolder(dirname(path))
}

export const diskSpaceCheck: Check = {
  name: 'Disk space',
  async run({ config: { dataDir }, machine }) {
    const folder = await nearestFolder(dataDir)
    const { freeBytes, totalBytes } = await machine.diskSpace(folder)
    if (freeBytes >= least.attention && freeBytes >= least.share * totalBytes) return []
    const percent = totalBytes > 0 ? Math.floor((freeBytes / totalBytes) * 100) : 0
    return [
      {
        level: freeBytes < least.wrong ? 'wrong' : 'attention',
        what: `The disk of ${folder} has ${inBytes(freeBytes)} left, ${percent} % of ${inBytes(totalBytes)}.`,
        advice:
          'On a full disk nothing can be written. Make room, or move DATA_DIR to a larger disk. What takes the most:',
        commands: [`du -xh -d 2 ${shellWord(folder)} | sort -h | tail`],
      },
    ]
  },
}
