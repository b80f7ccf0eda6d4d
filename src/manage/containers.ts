import type { Container } from '../content/model.ts'
import { notFound } from '../errors.ts'
import { providerTypes } from '../payments/payments.ts'
import { findContainerById } from '../store/containers.ts'
import type { GroupStore } from '../store/groups.ts'

/** Whether what it holds is a payment provider's: people do not write it, it follows the provider. */
export const isMirrored = ({ kind, name }: Pick<Container, 'kind' | 'name'>): boolean =>
  kind === 'integration' && (providerTypes as readonly string[]).includes(name)

/** A collection, or an integration type that people fill; undefined where it is neither. */
export async function findFilled(group: GroupStore, containerId: string): Promise<Container | undefined> {
  const found = await findContainerById(group, containerId)
  return found && !isMirrored(found) ? found : undefined
}

export async function takeFilled(group: GroupStore, containerId: string): Promise<Container> {
  const found = await findFilled(group, containerId)
  if (!found) throw notFound('There is no such collection in this group.')
  return found
}
