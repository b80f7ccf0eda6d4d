import type { Engine } from '../src/store/engine/database.ts'
import type { Load } from './load.ts'
import type { Stock } from './stock.ts'

export const engineNames: Record<Engine, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

/** What the parts of the bench are given. */
export interface Setup {
  load: Load
  stock: Stock
  engines: readonly Engine[]
  /** How often the contenders take turns, and how long each turn is. */
  rounds: number
  seconds: number
  /** Content of the service that is asked for pages. */
  items: number
  /** Sizes that content grows to, the least first. */
  sizes: readonly number[]
  /** How often one question is asked where its latency is measured. */
  samples: number
  /** Content of the service whose start is measured. */
  startItems: number
  /** How long memory is watched. */
  minutes: number
  /** After a start: what was allocated for it is given back by then. */
  settleSeconds: number
  tell(text: string): void
}

/** What a part has found, as Markdown, with the charts that belong to it by the names of their files. */
export interface Finding {
  /** What is compared and how. */
  about: string
  /** What came out. The documentation shows it, too. */
  tables: string
  charts?: Record<string, string>
}

export type Part = (setup: Setup) => Promise<Finding>
