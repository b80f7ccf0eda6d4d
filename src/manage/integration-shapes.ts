import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { findSyncJob } from '../payments/jobs.ts'
import { webhookSecretField } from '../payments/payments.ts'
import type { GroupStore } from '../store/groups.ts'
import { findingsOf, type Integration } from '../store/integrations.ts'
import { secretFields } from '../store/secrets.ts'
import { Type } from '../type.ts'
import { isoOrNull, moment, orNull, ownId } from './shapes.ts'

const found = {
  products: Type.Integer({ description: 'Products of the provider that were looked at.' }),
  prices: Type.Integer(),
  added: Type.Integer({ description: 'Products that are new here.' }),
  changed: Type.Integer(),
  archived: Type.Integer({ description: 'Products that the provider no longer sells.' }),
  ordersFound: Type.Integer({ description: 'Completed checkouts that nobody had told us of.' }),
  problems: Type.Array(Type.String(), { description: 'What could not be taken over, and why: the first of it.' }),
}

/** An account at a payment provider. None of its secrets is ever shown again. */
export const integrationShape = Type.Object({
  _id: ownId,
  type: Type.String(),
  accountHandle: Type.String(),
  status: Type.Enum(['active', 'disconnecting']),
  sandbox: Type.Boolean({ description: 'Whether the provider is our own stand-in.' }),
  live: Type.Boolean({ description: 'Whether real money moves.' }),
  account: Type.Object({ id: Type.String(), name: Type.String() }, { description: 'Who this is at the provider.' }),
  webhook: Type.Enum(['registered', 'by hand', 'none'], {
    description:
      'How the provider tells us of changes: by a call that we registered, by one that somebody set up there, or not at all.',
  }),
  webhookProblem: Type.Optional(
    Type.String({
      description: 'Why the provider refused to call us, the last time it was asked. Left out where it did not.',
    }),
  ),
  lastEventAt: orNull(moment),
  syncedAt: orNull(moment),
  progress: orNull(
    Type.Object(
      { phase: Type.String(), startedAt: moment, ...found },
      { description: 'Of the comparison with the provider’s whole catalogue that is under way.' },
    ),
  ),
  problem: orNull(
    Type.String({ description: 'Why the comparison that is under way has stopped; it goes on by itself.' }),
  ),
  lastSync: orNull(
    Type.Object({ startedAt: moment, finishedAt: moment, ...found }, { description: 'What the latest one found.' }),
  ),
  version: Type.Integer(),
  createdAt: moment,
  updatedAt: moment,
})

export async function showIntegration(
  group: GroupStore,
  integration: Integration,
): Promise<Static<typeof integrationShape>> {
  const { id, type, accountHandle, status, sandbox, live, webhookProblem, walk, lastSync } = integration
  const isTold = (await secretFields(group, id)).includes(webhookSecretField)
  const sync = await findSyncJob(group, id)
  return {
    _id: id,
    type,
    accountHandle,
    status,
    sandbox,
    live,
    account: { id: integration.accountId, name: integration.accountName },
    webhook: integration.webhookId !== null ? 'registered' : isTold ? 'by hand' : 'none',
    ...(webhookProblem !== null && { webhookProblem }),
    lastEventAt: isoOrNull(integration.lastEventMs),
    syncedAt: isoOrNull(integration.syncedMs),
    progress: walk ? { phase: walk.phase, startedAt: toIso(walk.startedMs), ...findingsOf(walk) } : null,
    problem: sync?.problem ?? null,
    lastSync: lastSync
      ? { startedAt: toIso(lastSync.startedMs), finishedAt: toIso(lastSync.finishedMs), ...findingsOf(lastSync) }
      : null,
    version: integration.version,
    createdAt: toIso(integration.createdMs),
    updatedAt: toIso(integration.updatedMs),
  }
}
