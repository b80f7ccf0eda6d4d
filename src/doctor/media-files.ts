import { opendir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { isKeyOfGroup } from '../content/media-keys.ts'
import { createLocalStorage } from '../media/storage.ts'
import type { Check, CheckedGroup, DoctorContext, Finding } from './check.ts'
import { isFile, isFolder, statIfThere } from './files.ts'
import { findMediaReferences } from './media-references.ts'
import { counted, createTally, inBytes } from './words.ts'

/** A file may be there before what will show it: a young one is not called unused. */
const settledAfterMs = 3600 * 1000

async function* filesIn(folder: string): AsyncGenerator<string> {
  if (!(await isFolder(folder))) return
  for await (const entry of await opendir(folder, { recursive: true }))
    if (entry.isFile()) yield join(entry.parentPath, entry.name)
}

/** The files of one group that are missing, and those that nothing refers to. */
async function compare(ctx: DoctorContext, checked: CheckedGroup) {
  const { group } = checked
  const { shown, kept } = await findMediaReferences(ctx, checked)
  const bucket = createLocalStorage(ctx.config.dataDir).folderOf(group.bucketName)
  const unseen = new Set([...shown].filter((key) => isKeyOfGroup(group.id, key)))
  const unused = { files: createTally(), bytes: 0 }
  for await (const path of filesIn(join(bucket, group.id))) {
    const key = relative(bucket, path).replaceAll(sep, '/')
    unseen.delete(key)
    if (shown.has(key) || kept.has(key)) continue
    const file = await statIfThere(path)
    if (!file || file.mtimeMs > ctx.clock() - settledAfterMs) continue
    unused.files.add(`${path}, ${inBytes(file.size)}`)
    unused.bytes += file.size
  }
  const missing = createTally()
  // Asked once more: a link to a folder elsewhere is not walked through above, and serves all the same.
  for (const key of unseen) if (!(await isFile(join(bucket, key)))) missing.add(join(bucket, key))
  return { missing, unused }
}

async function checkGroup(ctx: DoctorContext, checked: CheckedGroup): Promise<Finding[]> {
  const { name } = checked.group
  const { missing, unused } = await compare(ctx, checked)
  const findings: Finding[] = []
  if (missing.count > 0)
    findings.push({
      level: 'wrong',
      what: `${counted(missing.count, 'file')} that content of ${name} shows ${missing.count === 1 ? 'is' : 'are'} missing.`,
      examples: missing.first,
      advice: 'Restore them from your backup of DATA_DIR/media, or let the content show others.',
    })
  if (unused.files.count > 0)
    findings.push({
      level: 'attention',
      what: `${counted(unused.files.count, 'file')} of ${name} with ${inBytes(unused.bytes)} ${unused.files.count === 1 ? 'is' : 'are'} shown by nothing, nor by any version that is kept.`,
      examples: unused.files.first,
      advice: 'They only take room. Remove what you know you do not need; Sluice never does.',
    })
  return findings
}

export const mediaFilesCheck: Check = {
  name: 'Media files',
  async run(ctx) {
    const findings: Finding[] = []
    for (const checked of await ctx.groups()) findings.push(...(await checkGroup(ctx, checked)))
    return findings
  },
}
