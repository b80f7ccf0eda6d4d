import { listUsers } from '../store/users.ts'
import type { Check } from './check.ts'

export const administratorsCheck: Check = {
  name: 'Administrators',
  async run(ctx) {
    if (ctx.config.managePort === 'off') return []
    const users = await listUsers(await ctx.store())
    if (users.some(({ administrator, disabledMs }) => administrator && disabledMs === null)) return []
    return [
      {
        level: 'attention',
        what: 'There is no administrator, so the management API lets nobody make groups and users.',
        advice: 'Make the first one here, and a token for the id that is shown; or set MANAGE_PORT=off:',
        commands: ['npx sluice user create "Your name" --administrator', 'npx sluice token create <user id>'],
      },
    ]
  },
}
