import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { localMediaFolder } from '../media/open.ts'
import type { Check } from './check.ts'
import { isFolder } from './files.ts'
import { withGroupIds } from './left-overs.ts'
import { createTally, shellWord } from './words.ts'

async function foldersIn(path: string): Promise<string[]> {
  if (!(await isFolder(path))) return []
  const entries = await readdir(path, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
}

/** Each group has a folder in its bucket, and nobody else has one there. Buckets of a store elsewhere may hold more. */
export const mediaFoldersCheck: Check = {
  name: 'Media folders',
  async run(ctx) {
    if (ctx.config.mediaPlace.kind !== 'folder') return []
    const media = localMediaFolder(ctx.config)
    const { result: folders, groupIds } = await withGroupIds(await ctx.store(), async () => {
      const buckets = await foldersIn(media)
      const inBuckets = buckets.map(async (bucket) =>
        (await foldersIn(join(media, bucket))).map((name) => ({ name, path: join(media, bucket, name) })),
      )
      return (await Promise.all(inBuckets)).flat()
    })
    const strays = createTally()
    for (const { name, path } of folders) if (!groupIds.has(name)) strays.add(path)
    if (strays.count === 0) return []
    return [
      {
        level: 'attention',
        what: `${strays.count === 1 ? '1 folder of media belongs' : `${strays.count} folders of media belong`} to no group.`,
        examples: strays.first,
        advice:
          'An import or a deletion was interrupted, or runs just now. Nothing serves them. To see how much they take:',
        commands: [`du -sh ${strays.first.map(shellWord).join(' ')}`],
      },
    ]
  },
}
