import type { CommandContext } from '../../src/cli/command.ts'
import { runCommand } from '../../src/cli/index.ts'
import { type Harness, harness, type TestEngine } from './harness.ts'

export interface Terminal extends Harness {
  /** What a command prints. */
  run(...argv: string[]): Promise<string>
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  json(...argv: string[]): Promise<any>
}

/** Commands against the harness's own store, with what they print. */
export async function terminal(engine: TestEngine): Promise<Terminal> {
  const created = await harness(engine)
  const { service, config, clock } = created
  const run = async (...argv: string[]): Promise<string> => {
    const printed: string[] = []
    const context: CommandContext = {
      config,
      clock: () => clock.now,
      logger: service.logger,
      store: async () => service.store,
      print: (text) => void printed.push(text),
    }
    await runCommand(argv, context)
    return printed.join('\n')
  }
  return { ...created, run, json: async (...argv) => JSON.parse(await run(...argv, '--json')) }
}
