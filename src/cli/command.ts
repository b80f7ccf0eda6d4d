import type { ParseArgsOptionsConfig } from 'node:util'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { ServiceLogger } from '../core/logging.ts'
import type { Store } from '../store/store.ts'

/** A command's dependencies. Nothing is global, so that a test can run a command on its own store and read its output. */
export interface CommandContext {
  config: Config
  clock: Clock
  logger: ServiceLogger
  /** Opened and migrated on first use, and closed when the command ends. */
  store(): Promise<Store>
  print(text: string): void
  /** How long a command waits for a running server to begin a job, by default a few seconds. */
  waitForServerMs?: number
}

export interface CommandInput {
  /** Values of `<arguments>`, in order. */
  args: string[]
  options: Record<string, string | boolean | string[] | undefined>
}

export interface Command {
  /** The words after `sluice`, such as `key create`. */
  name: string
  summary: string
  /** Names of the required positional arguments. */
  args: string[]
  /** Whether the last of them can be given several times. */
  repeatsLast?: boolean
  options: ParseArgsOptionsConfig
  /** Explains each option, and shows the command in use. */
  help: string
  run(context: CommandContext, input: CommandInput): Promise<void>
}

/** Prints for a person, or with `--json` for a program. */
export function printResult(context: CommandContext, { options }: CommandInput, json: unknown, text: string): void {
  context.print(options.json ? JSON.stringify(json, null, 2) : text)
}

export function toTable(head: string[], rows: string[][]): string {
  const lines = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function textOption({ options }: CommandInput, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}
