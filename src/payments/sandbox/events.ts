import type { Books } from './books.ts'
import { within } from './created.ts'
import type { Event } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { noSuch, notInSandbox, refuse } from './refusal.ts'

/** `product.*` is all that begins with `product.`. */
const isOfType = (wanted: string, type: string): boolean =>
  wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted

export async function listEvents(books: Books, query: ParameterTypes['EventListParams']) {
  const { type, types, created } = query
  if (query.delivery_success !== undefined) throw notInSandbox('delivery_success')
  if (type !== undefined && types !== undefined) throw refuse('types', 'Pass either `type` or `types`, not both.')
  const wanted = types ?? (type === undefined ? undefined : [type])
  return books.page(
    'event',
    query,
    (event) => (!wanted || wanted.some((each) => isOfType(each, event.type))) && within(created, event.created),
  )
}

export async function findEvent(books: Books, id: string): Promise<Event> {
  const event = await books.find('event', id)
  if (!event) throw noSuch('event', id)
  return event
}
