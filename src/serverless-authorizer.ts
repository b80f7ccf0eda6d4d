import { readConfig } from './config/config.ts'
import { systemClock } from './core/clock.ts'
import { createLogger } from './core/logging.ts'
import { findTenantOfKey } from './store/control/api-keys.ts'
import { openConfiguredStore } from './store/open-configured.ts'
import type { Tenant } from './store/store.ts'
import { type Authorizer, createAuthorizer } from './tenant/authorizer.ts'

/** The request and response of an API gateway (HTTP API, payload format 2.0, simple responses). */
interface AuthorizerEvent {
  headers?: Record<string, string | undefined>
}

type AuthorizerAnswer = { isAuthorized: true; context: Tenant } | { isAuthorized: false }

export function createAuthorizerHandler(
  authorize: Authorizer<Tenant>,
): (event: AuthorizerEvent) => Promise<AuthorizerAnswer> {
  return async ({ headers = {} }) => {
    const tenant = await authorize(headers.authorization ?? headers.Authorization ?? '')
    if (!tenant) return { isAuthorized: false }
    const { database, bucketName, groupID, tier } = tenant
    return { isAuthorized: true, context: { database, bucketName, groupID, tier } }
  }
}

let started: Promise<ReturnType<typeof createAuthorizerHandler>> | undefined

async function start(): Promise<ReturnType<typeof createAuthorizerHandler>> {
  const config = readConfig(process.env)
  const store = await openConfiguredStore(config, systemClock, createLogger(config))
  const findHolder = (secretHash: string) => findTenantOfKey(store, secretHash, systemClock())
  return createAuthorizerHandler(createAuthorizer({ findHolder, clock: systemClock }))
}

/** The authorizer alone, as a serverless function (spec §5.3). Opens the store once per instance. */
export async function handler(event: AuthorizerEvent): Promise<AuthorizerAnswer> {
  started ??= start()
  return (await started)(event)
}
