import packageFile from '../../package.json' with { type: 'json' }
import type { Check } from './check.ts'

function partsOf(version: string): number[] {
  const [, ...parts] = /^(?:>=)?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(version) ?? []
  if (parts.length === 0) throw new Error(`"${version}" is no version that can be compared`)
  return parts.map((part) => Number(part ?? 0))
}

function isOlder(version: string, least: string): boolean {
  const wanted = partsOf(least)
  const difference = partsOf(version)
    .map((part, position) => part - (wanted[position] ?? 0))
    .find((part) => part !== 0)
  return difference !== undefined && difference < 0
}

export const nodeVersionCheck: Check = {
  name: 'Node version',
  async run({ machine: { nodeVersion } }) {
    const { node: wanted } = packageFile.engines
    if (!isOlder(nodeVersion, wanted)) return []
    return [
      {
        level: 'wrong',
        what: `This is Node ${nodeVersion}, and Sluice needs ${wanted}.`,
        advice: 'Install a newer Node. "npm ci" brings the right one for "npm start" and "npx sluice":',
        commands: ['npm ci'],
      },
    ]
  },
}
