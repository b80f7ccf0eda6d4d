import { type RawBuilder, sql } from 'kysely'
import type { Engine } from './database.ts'

/** Text that both engines compare byte by byte. PostgreSQL would otherwise sort by the server's language. */
export function textType(engine: Engine): RawBuilder<unknown> {
  return engine === 'postgres' ? sql`text collate "C"` : sql`text`
}
