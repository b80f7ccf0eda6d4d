import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A start leaves much behind that is never needed again, and a quiet process would not get round to clearing it away. */
export function giveBackMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', flavor: 'last-resort' })
}
