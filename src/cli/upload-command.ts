import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { invalid } from '../core/errors.ts'
import { type ManageDeps, runVerb, type Verb } from '../manage/verb.ts'
import type { Upload } from '../media/inbox.ts'
import { type Command, printResult } from './command.ts'
import { withProgress } from './progress.ts'
import { showRecord } from './show.ts'
import { inputOf, resolveNames, terminalActor, toCommand, withManaging, withoutSignedUrls } from './verb-command.ts'

type OnBytes = (bytes: number) => void

async function sizeOf(path: string): Promise<number> {
  const file = await stat(path).catch((error: Error) => {
    throw invalid(`${path} cannot be read: ${error.message}.`)
  })
  if (!file.isFile()) throw invalid(`${path} is not a file.`)
  return file.size
}

function openFile(path: string, onBytes: OnBytes): Upload {
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      onBytes(chunk.length)
      done(null, chunk)
    },
  })
  pipeline(createReadStream(path), counted).catch(() => {}) // the reader gets the error
  return { name: basename(path), content: counted }
}

function storedBefore(count: number): string {
  if (count === 0) return ''
  return count === 1 ? ' The one before it was stored.' : ` The ${count} before it were stored.`
}

function notTried(count: number): string {
  if (count === 0) return ''
  return count === 1 ? ' The one after it was not tried.' : ` The ${count} after it were not tried.`
}

/** A verb that takes a file as a command, with the file as the last argument. Several can be added at once. */
export function toUploadCommand(verb: Verb): Command {
  const plain = toCommand(verb)
  const takesSeveral = verb.isCreation
  return {
    ...plain,
    args: [...plain.args, 'file'],
    repeatsLast: takesSeveral,
    async run(context, given) {
      const fileIndex = plain.args.length
      const paths = given.args.slice(fileIndex)
      const sizes = await Promise.all(paths.map(sizeOf))
      const total = sizes.reduce((sum, size) => sum + size, 0)
      const input = inputOf(verb, { ...given, args: given.args.slice(0, fileIndex) })
      await resolveNames(await context.store(), input)
      if (paths.length > 1 && input.name !== undefined)
        throw invalid('--name is for one file; give one, or leave it out.')
      const stored: Record<string, unknown>[] = []
      const printStored = (): void => {
        const json = takesSeveral ? { items: stored, totalCount: stored.length } : stored[0]
        printResult(context, given, json, stored.map((item) => showRecord(withoutSignedUrls(item))).join('\n\n'))
      }
      const upload = (deps: ManageDeps) =>
        withProgress(!given.options.json, async (onProgress) => {
          let done = 0
          for (const [position, path] of paths.entries()) {
            const onBytes: OnBytes = (bytes) => {
              done += bytes
              onProgress({ stage: `Uploading ${basename(path)}`, done, total })
            }
            try {
              const answer = await runVerb(deps, terminalActor(), verb, input, async () => openFile(path, onBytes))
              stored.push(answer as Record<string, unknown>)
            } catch (error) {
              if (stored.length > 0) printStored() // their keys are needed even though another one failed
              const more = storedBefore(stored.length) + notTried(paths.length - position - 1)
              if (error instanceof Error) error.message = `${path}: ${error.message}${more}`
              throw error
            }
          }
        })
      await withManaging(context, upload)
      printStored()
    },
  }
}
