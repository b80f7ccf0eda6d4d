import { randomBytes } from 'node:crypto'
import { mkdir, readdir, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { invalid } from '../../core/errors.ts'
import { linesFile, mediaFolder } from '../export-format.ts'
import { readLines } from '../import/line-reader.ts'

async function filesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw invalid(`${folder} cannot be written: ${error.message}.`)
  })
}

/** The group id of the export in a folder; undefined if it has none. */
async function groupExportedTo(folder: string): Promise<string | undefined> {
  try {
    for await (const { bytes } of readLines(join(folder, linesFile))) {
      const { type, groupId } = JSON.parse(bytes.toString())
      return type === 'sluice-export' ? groupId : undefined
    }
  } catch {
    // not an export
  }
  return undefined
}

/** An export may only replace an earlier export of the same group. */
async function refuseOccupied(folder: string, groupId: string): Promise<void> {
  const files = await filesIn(folder)
  const isOurs = files.every((name) => name === linesFile || name === mediaFolder)
  if (files.length === 0 || (isOurs && (await groupExportedTo(folder)) === groupId)) return
  throw invalid(
    `${folder} is not empty, and not an earlier export of this group. Name a folder that does not exist yet.`,
  )
}

/** The former folder is removed only once the new one has its name. */
async function replaceTarget(draft: string, target: string, former: string): Promise<void> {
  const isOccupied = (await filesIn(target)).length > 0
  if (isOccupied) await rename(target, former)
  try {
    await rename(draft, target)
  } catch (error) {
    if (isOccupied) await rename(former, target)
    // Such as a mount point, which cannot be renamed.
    throw invalid(`${target} cannot be replaced: ${(error as Error).message}. Name a folder that does not exist yet.`)
  }
  await rm(former, { recursive: true, force: true })
}

/**
 * `fill` writes into a temporary folder, which is renamed when complete: an interrupted export leaves nothing that looks
 * like one.
 */
export async function fillFolder<Result>(
  folder: string,
  groupId: string,
  fill: (draft: string) => Promise<Result>,
): Promise<Result> {
  const target = await realpath(folder).catch(() => resolve(folder))
  await refuseOccupied(target, groupId)
  const beside = (ending: string): string =>
    join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.${ending}`)
  const draft = beside('part')
  await mkdir(draft, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    throw invalid(`${folder} cannot be written: ${error.message}.`)
  })
  try {
    const result = await fill(draft)
    await refuseOccupied(target, groupId) // again: it may have been filled in the meantime
    await replaceTarget(draft, target, beside('former'))
    return result
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}
