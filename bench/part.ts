import type { Engine } from '../src/store/engine/database.ts'
import type { Load } from './load.ts'
import type { Stock } from './stock.ts'

export const engineNames: Record<Engine, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

export interface Setup {
  load: Load
  stock: Stock
  engines: readonly Engine[]
  /** How many turns each contender takes, and how long each turn is. */
  rounds: number
  seconds: number
  /** Items in the collection that pages are requested from. */
  items: number
  /** Numbers of items for "scale", in ascending order. */
  sizes: readonly number[]
  /** Requests per latency figure. */
  samples: number
  /** Items in the database whose start is measured. */
  startItems: number
  /** How long memory is sampled. */
  minutes: number
  /** How long to wait after a start until memory used only for starting is released. */
  settleSeconds: number
  /** Of Sluice, beside those of production; for tests only. */
  settings: Record<string, string>
  progress(text: string): void
}

/** The result of a part: Markdown, and its charts by file name. */
export interface Finding {
  /** What is compared and how. */
  about: string
  /** Also inserted into docs/performance.md. */
  tables: string
  charts?: Record<string, string>
}

export type Part = (setup: Setup) => Promise<Finding>
