import { sessionOwner } from '../content/checkout.ts'
import type { JobHandler } from '../jobs/handler.ts'
import { retryDelaysSeconds } from '../jobs/retry-backoff.ts'
import { findIntegrationById } from '../store/commerce/integrations.ts'
import { recordOrder } from '../store/commerce/orders.ts'
import { type OrderWork, orderKind } from './jobs.ts'
import type { Payments } from './payments.ts'

const maxSeconds = 60

/** Fetches a session's current state and records the order. */
export const orderHandlers = ({ payments }: { payments: Pick<Payments, 'open'> }): JobHandler[] => [
  {
    kind: orderKind,
    retryDelaysSeconds: retryDelaysSeconds.recordOrder,
    maxSeconds,
    async run({ payload }, { group, finish }) {
      const { integrationId, sessionId } = payload as OrderWork
      const integration = await findIntegrationById(group, integrationId)
      if (!integration) return // disconnected in the meantime
      const provider = await payments.open(group, integration)
      const session = await provider.fetchSession(sessionId)
      if (!session || session.status === null) return
      const { id, status, metadata, ...purchase } = session
      const { groupId, siteId } = sessionOwner(metadata)
      if (groupId !== group.groupId) return // a sale of the same account, but not through us
      const { type, accountHandle, live } = integration
      await finish((writer) =>
        recordOrder(writer, { type, accountHandle, live, sessionId: id, status, siteId, ...purchase }),
      )
    },
  },
]
