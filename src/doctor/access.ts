import { toIso } from '../content/moments.ts'
import { dayMs } from '../core/clock.ts'
import { type AdminToken, listAdminTokens } from '../store/control/admin-tokens.ts'
import { listUsers } from '../store/control/users.ts'
import { attention, type Check } from './check.ts'
import { counted, createTally } from './format.ts'

export const administratorsCheck: Check = {
  name: 'Administrators',
  async run(ctx) {
    if (ctx.config.managePort === 'off') return []
    const users = await listUsers(await ctx.store())
    if (users.some(({ administrator, disabledMs }) => administrator && disabledMs === null)) return []
    return attention({
      what: 'There is no administrator, so groups and users cannot be created through the management API.',
      advice: 'Create the first one here, and a token for its id; or set MANAGE_PORT=off:',
      commands: ['npx sluice user create "Your name" --administrator', 'npx sluice token create <user id>'],
    })
  },
}

const idleDays = 90

const isIdle = ({ expiresMs, revokedMs, lastUsedMs, createdMs }: AdminToken, nowMs: number): boolean =>
  expiresMs === null && revokedMs === null && (lastUsedMs ?? createdMs) < nowMs - idleDays * dayMs

/** The theft of an unused token would go unnoticed. */
export const tokensCheck: Check = {
  name: 'Tokens',
  async run(ctx) {
    const store = await ctx.store()
    const users = new Map((await listUsers(store)).map((user) => [user.id, user]))
    const idle = createTally<{ name: string; command: string }>()
    for (const token of await listAdminTokens(store, {})) {
      const user = users.get(token.userId)
      if (!user || user.disabledMs !== null || !isIdle(token, ctx.clock())) continue
      const used = token.lastUsedMs === null ? 'never used' : `last used ${toIso(token.lastUsedMs)}`
      idle.add({
        name: `${token.prefix}... of ${user.name}${token.label && ` (${token.label})`}, ${used}`,
        command: `npx sluice token revoke ${user.id} ${token.id}`,
      })
    }
    if (idle.count === 0) return []
    return attention({
      what: `${counted(idle.count, 'token')} of the management API never ${idle.count === 1 ? 'expires and was' : 'expire and were'} not used for ${idleDays} days.`,
      examples: idle.first.map(({ name }) => name),
      advice: 'Revoke those that are not needed, and create new tokens with --life:',
      commands: idle.first.map(({ command }) => command),
    })
  },
}
