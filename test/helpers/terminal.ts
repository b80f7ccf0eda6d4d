import type { CommandContext } from '../../src/cli/command.ts'
import { runCommand } from '../../src/cli/index.ts'
import { type Harness, harness, type TestEngine } from './harness.ts'

export type Run = (...argv: string[]) => Promise<string>

export interface Terminal extends Harness {
  /** The output of a command. */
  run: Run
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  json(...argv: string[]): Promise<any>
}

/** Runs commands on the harness's store and captures their output. */
export function commandsOn({ service, config, clock }: Harness): Run {
  return async (...argv) => {
    const printed: string[] = []
    const context: CommandContext = {
      config,
      clock: () => clock.now,
      logger: service.logger,
      store: async () => service.store,
      print: (text) => void printed.push(text),
      waitForServerMs: 0, // none runs
    }
    await runCommand(argv, context)
    return printed.join('\n')
  }
}

/** The same with a separate harness. */
export async function terminal(engine: TestEngine, env: Record<string, string> = {}): Promise<Terminal> {
  const created = await harness(engine, { env })
  const run = commandsOn(created)
  return { ...created, run, json: async (...argv) => JSON.parse(await run(...argv, '--json')) }
}
