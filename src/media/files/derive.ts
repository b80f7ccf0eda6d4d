import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Size } from './formats.ts'

export interface Derivative {
  width: number
  format: 'webp' | 'avif'
  path: string
  bytes: number
}

/** The size is that of the upright picture. */
export interface Derived extends Size {
  /** The dominant colour, as "#rrggbb". */
  color: string
  /** A data URL of a few hundred characters; none for a transparent picture. */
  placeholder: string | null
  /** Smaller pictures, WebP before AVIF; none for an animation, as they would not move. */
  derivatives: Derivative[]
}

/** What the child process gets as its argument and what it prints, both as JSON. */
export interface DeriveTask {
  path: string
  outputFolder: string
  maxPixels: number
  maxMemoryBytes: number
}

export type DeriveResult = { derived: Derived } | { problem: string }

/** The picture itself is the cause, so a retry will not help. The message is for the owner of the site. */
export class PictureProblem extends Error {
  override readonly name = 'PictureProblem'
}

const script = join(import.meta.dirname, 'derive-process.ts')
/** The script itself needs little: libvips allocates outside of this heap. */
const nodeOptions = ['--max-old-space-size=128']

interface Outcome {
  output: string
  errors: string
  code: number | null
  killedBy: NodeJS.Signals | null
}

/**
 * Resolves when the process has ended, killed or not. It gets no environment, as settings hold secrets; what was compiled
 * once is kept, as otherwise its start takes twice the CPU time.
 */
async function runScript(args: string[], signal?: AbortSignal): Promise<Outcome> {
  const child = spawn(process.execPath, [...nodeOptions, script, ...args], {
    env: { MALLOC_ARENA_MAX: '2', NODE_COMPILE_CACHE: getCompileCacheDir() },
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  })
  const kill = (): boolean => child.kill('SIGKILL')
  signal?.addEventListener('abort', kill, { once: true })
  try {
    const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
    const [output, errors, [code, killedBy]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    return { output, errors, code, killedBy }
  } finally {
    signal?.removeEventListener('abort', kill)
  }
}

/** Signals of a crash in native code. */
const crashSignals: (string | null)[] = ['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE', 'SIGTRAP']
const tooMuchMemory = 'The picture needs too much memory. Make it smaller and upload it again.'

function parseOutcome({ output, errors, code, killedBy }: Outcome): Derived {
  if (crashSignals.includes(killedBy)) {
    throw new PictureProblem('The picture is damaged: the decoder crashed.')
  }
  // By the script itself at its memory limit, or by a system that ran out of memory.
  if (killedBy === 'SIGKILL') throw new PictureProblem(tooMuchMemory)
  // Ended together with the server, or unable to write: the picture is not the cause.
  if (code !== 0)
    throw new Error('The decoder process failed; see the server log.', { cause: errors.trim() || killedBy })
  const result: DeriveResult = JSON.parse(output)
  if ('problem' in result) throw new PictureProblem(result.problem)
  return result.derived
}

async function removeDerivatives(folder: string): Promise<void> {
  const names = await readdir(folder)
  for (const name of names.filter((each) => /^\d+\.(webp|avif)$/.test(each))) await rm(join(folder, name))
}

/**
 * Analyses a picture and writes smaller versions of it to the folder. Throws a `PictureProblem` when the picture cannot
 * be read; after any failure the folder holds none of them.
 */
export async function deriveImage(
  path: string,
  outputFolder: string,
  options: { maxPixels: number; maxSeconds: number; maxMemoryBytes?: number; signal?: AbortSignal },
): Promise<Derived> {
  const { maxPixels, maxSeconds, maxMemoryBytes = 1024 ** 3, signal } = options
  signal?.throwIfAborted()
  const task: DeriveTask = { path, outputFolder, maxPixels, maxMemoryBytes }
  const limit = AbortSignal.timeout(maxSeconds * 1000)
  try {
    const outcome = await runScript([JSON.stringify(task)], signal ? AbortSignal.any([limit, signal]) : limit)
    signal?.throwIfAborted()
    if (limit.aborted && outcome.killedBy === 'SIGKILL') {
      throw new PictureProblem(`Scaling the picture took longer than ${maxSeconds} seconds.`)
    }
    return parseOutcome(outcome)
  } catch (error) {
    await removeDerivatives(outputFolder)
    throw error
  }
}

let isAble = false // only success is remembered: a failure may be temporary

/** Whether sharp, which is optional, can be loaded; tried in a child process. */
export async function canDerive(): Promise<boolean> {
  isAble ||= (await runScript([])).code === 0
  return isAble
}
