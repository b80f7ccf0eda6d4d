import type { AnyFound } from '../store/check-open.ts'
import type { Check, Finding } from './check.ts'
import { openDatabases } from './databases.ts'

const older = ({ place, version, knownVersion }: AnyFound): Finding => ({
  level: 'attention',
  what: `${place} is at schema version ${version}, and this Sluice works with ${knownVersion}.`,
  advice: 'Every start of a server brings it there; to do it ahead of that:',
  commands: ['npx sluice migrate'],
})

const newer = ({ place, version, knownVersion }: AnyFound): Finding => ({
  level: 'wrong',
  what: `${place} is at schema version ${version}, and this Sluice knows only ${knownVersion}: it will not start.`,
  advice: 'A newer Sluice has changed it. Install that version again, or restore a backup from before its upgrade.',
})

export const schemaVersionsCheck: Check = {
  name: 'Schema versions',
  async run(ctx) {
    return (await openDatabases(ctx)).flatMap((found) => {
      if (found.version === found.knownVersion) return []
      return [found.version < found.knownVersion ? older(found) : newer(found)]
    })
  },
}
