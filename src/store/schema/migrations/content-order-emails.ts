import type { Transaction } from 'kysely'
import { type Migration, textType } from '../migrate.ts'

interface TablesOfThen {
  orders: { id: string; data: string; email_key: string | null }
}

const rowsPerStep = 500

/** Adds an indexed column with the address of an order. */
export const addOrderEmails: Migration['up'] = async (given, engine) => {
  await given.schema.alterTable('orders').addColumn('email_key', textType(engine)).execute()
  const db = given as Transaction<TablesOfThen>
  for (let last = ''; ; ) {
    const rows = await db
      .selectFrom('orders')
      .select(['id', 'data'])
      .where('id', '>', last)
      .orderBy('id')
      .limit(rowsPerStep)
      .execute()
    for (const { id, data } of rows) {
      const { email } = JSON.parse(data) as { email?: string | null }
      if (!email || email.includes('\u0000')) continue
      await db.updateTable('orders').set({ email_key: email.toLowerCase() }).where('id', '=', id).execute()
    }
    const next = rows.at(-1)?.id
    if (next === undefined) break
    last = next
  }
  await given.schema.createIndex('orders_by_email').on('orders').columns(['group_id', 'email_key']).execute()
}
