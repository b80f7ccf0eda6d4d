import { inCount, inMs, table } from './markdown.ts'
import { engineNames, type Finding, type Setup } from './part.ts'
import { headersOf, listPath } from './questions.ts'
import { startSluice } from './servers.ts'
import { range } from './statistics.ts'

const limit = 20

interface ListAnswer {
  success: boolean
  data: { items: unknown[]; totalCount: number }
}

/** From the start of the process to its first correct answer. */
export async function benchStart({ engines, startItems, rounds, stock, progress }: Setup): Promise<Finding> {
  const rows: string[][] = []
  for (const engine of engines) {
    const dataset = await stock.get(engine, { items: startItems })
    const isRight = (body: string): boolean => {
      const { success, data } = JSON.parse(body) as ListAnswer
      return success && data.items.length === limit && data.totalCount === startItems
    }
    const first = { path: listPath(dataset, { limit }), headers: headersOf(dataset), isRight }
    const times: number[] = []
    for (let round = 1; round <= rounds; round += 1) {
      await using sluice = await startSluice({ ...dataset.env }, { first })
      const { startedInMs } = sluice
      times.push(startedInMs)
      progress(`start ${round} of ${rounds} on ${engine}: ${inMs(startedInMs)}`)
    }
    rows.push([engineNames[engine], range(times, inMs)])
  }
  return {
    about: `From the start of the process to the first right answer (a page of ${limit} with its total) on an existing database of ${inCount(startItems)} items,
${rounds} times: the median, the least and the greatest. It is asked every few milliseconds. The database was read before, so its files are in the
memory of the operating system.`,
    tables: table(['database', 'start to first answer'], rows),
  }
}
