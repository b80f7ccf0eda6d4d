/** What the writer that is killed does to each object, step by step, and what is there after each step. */

const label = { type: 'text', required: true }
const other = { type: 'reference' }

export const schema = {
  n: { type: 'integer', unique: true },
  batch: { type: 'text' },
  card: { type: 'object', fields: { label, other, code: { type: 'text', private: true } } },
  rows: { type: 'list', of: { type: 'object', fields: { label, others: { type: 'list', of: other } } } },
  parts: { type: 'blocks', blocks: { prose: { fields: { label } }, link: { fields: { other } } } },
}

/** All nested values of an object have the same label, so that one that is half changed shows. */
export const loggedValue = (n: number, batch: string, text: string, target: string | undefined) => ({
  n,
  batch,
  card: { label: text, code: `secret ${text}`, ...(target !== undefined && { other: target }) },
  rows: [{ label: text, ...(target !== undefined && { others: [target] }) }, { label: text }],
  parts: [{ type: 'prose', label: text }, ...(target === undefined ? [] : [{ type: 'link', other: target }])],
})

/** Due soon after it is written, so that other writes apply it, or in a thousand years. */
export const soonMs = 10
export const laterMs = Date.UTC(2999, 0)

export type Step = 'save' | 'publish' | 'schedule soon' | 'schedule later' | 'discard' | 'archive soon'

/** By the last digit of an object's number. */
const plans: readonly (readonly Step[])[] = [
  ['save'],
  ['save', 'publish'],
  ['save', 'schedule soon'],
  ['save', 'schedule later'],
  ['save', 'discard'],
  ['archive soon'],
  ['save', 'publish', 'save', 'schedule soon'],
  ['save', 'schedule later', 'archive soon'],
  [],
  [],
]

export const stepsOf = (n: number): readonly Step[] => plans[n % plans.length] ?? []

export interface ExpectedState {
  live: string
  version: number
  archived: boolean
  copy?: { text: string; dueMs: number | null }
}

/** After some steps, when everything due soon has been applied. */
export function stateAfter(n: number, steps: number): ExpectedState {
  const state: ExpectedState = { live: 'created', version: 1, archived: false }
  for (const [position, step] of stepsOf(n).slice(0, steps).entries()) {
    const { copy } = state
    if (step === 'save') state.copy = { text: savedText(position), dueMs: null }
    else if (step === 'archive soon') Object.assign(state, { archived: true, version: state.version + 1 })
    else if (step === 'schedule later' && copy) copy.dueMs = laterMs
    else {
      if (step !== 'discard' && copy) Object.assign(state, { live: copy.text, version: state.version + 1 })
      delete state.copy
    }
  }
  return state
}

export const savedText = (position: number): string => `saved ${position}`
