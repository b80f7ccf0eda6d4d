import { nextStatus } from '../content/orders.ts'
import type { GroupStore } from '../store/groups.ts'
import { findOrder } from '../store/orders.ts'
import { compareOrders } from './apply-orders.ts'
import type { OrdersStep } from './import-steps.ts'
import type { ProblemList } from './problem-list.ts'
import type { TallyCounts } from './tally.ts'

/** Looks what an import would do to the orders of a group that exists, and what stands in its way. */
export async function planOrders(
  group: GroupStore,
  { orders }: OrdersStep,
  counts: TallyCounts,
  problems: ProblemList,
): Promise<void> {
  for (const { wanted, here } of await compareOrders(group, orders)) {
    if (here) {
      counts[nextStatus(here.status, wanted.status) === here.status ? 'equal' : 'changed'] += 1
      continue
    }
    counts.added += 1
    if (await findOrder(group, wanted.id))
      problems.add(wanted.place, `the id ${wanted.id} is that of another order here`)
  }
}
