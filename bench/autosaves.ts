import { createAdminToken } from '../src/store/control/admin-tokens.ts'
import { createUser } from '../src/store/control/users.ts'
import { openStore } from '../src/store/open.ts'
import { authoring } from '../test/helpers/authoring.ts'
import { type Client, createClient } from './ask.ts'
import type { Dataset } from './fill.ts'
import { inCount, table } from './markdown.ts'
import { engineNames, type Finding, type Setup } from './part.ts'
import { headersOf, listPath } from './questions.ts'
import { startSluice } from './servers.ts'
import { coldReader, figures, type Latencies, pageReader, type Reader, sendSteadily } from './writes.ts'

const editors = 50
const savesPerSecond = 500
const readsPerSecond = 100
const maxConnections = 256
const warmUpSeconds = 10

/** An administrator's token, and the paths of the working copies that the editors save. */
async function findSubjects(dataset: Dataset): Promise<{ token: string; paths: string[] }> {
  const store = await openStore({
    dataDir: dataset.env.DATA_DIR,
    databaseUrl: dataset.env.DATABASE_URL || undefined,
    clock: Date.now,
    onConnectionError: (error) => {
      throw error
    },
  })
  try {
    const user = await createUser(store, { name: 'Editor', administrator: true }, authoring(Date.now()))
    const { token } = await createAdminToken(store, user, {}, authoring(Date.now()))
    const database = await store.content(dataset.database)
    const rows = await database.read
      .selectFrom('objects')
      .select('id')
      .where('container_id', '=', dataset.collectionId)
      .orderBy('id')
      .limit(editors)
      .execute()
    return { token, paths: rows.map(({ id }) => `/manage/groups/${dataset.groupId}/objects/${id}/draft`) }
  } finally {
    await store.close()
  }
}

/** Saves, counted, and the revision of the group's answers. */
function createEditors(writers: Client, { token, paths }: Awaited<ReturnType<typeof findSubjects>>) {
  const headers = { authorization: `Bearer ${token}` }
  return (origin: string, seconds: number) =>
    sendSteadily(savesPerSecond, seconds, async (number) => {
      const content = { objectValue: { title: `A title in work ${number}` } }
      const path = paths[number % paths.length] ?? '/'
      const answer = await writers.ask(origin, { path, headers, content, method: 'PATCH' })
      if (answer.status !== 200) throw new Error(`A save was answered with ${answer.status}: ${answer.body}`)
      return answer.ms
    })
}

async function measureDataset(
  dataset: Dataset,
  { seconds, settings, progress }: Pick<Setup, 'seconds' | 'settings' | 'progress'>,
): Promise<{ rows: string[][]; saves: string[]; isUnchanged: boolean }> {
  using readers = createClient(maxConnections)
  using writers = createClient(maxConnections)
  const save = createEditors(writers, await findSubjects(dataset))
  const unlimited = { MANAGE_RATE_LIMIT: '1000000/1000000' }
  await using caching = await startSluice({ ...dataset.env, ...settings, ...unlimited })
  await using forgetful = await startSluice({ ...dataset.env, ANSWER_CACHE_MB: '0', ...settings, ...unlimited })
  const read = (origin: string, { path, headers }: Reader, forSeconds: number) =>
    sendSteadily(readsPerSecond, forSeconds, async (number) => {
      const answer = await readers.ask(origin, { path: path(number), headers })
      return answer.status === 200 ? answer.ms : undefined
    })
  const tagOf = async () => {
    const page = { path: listPath(dataset, { limit: 20 }), headers: headersOf(dataset) }
    return (await readers.ask(caching.origin, page)).headers.etag
  }
  const before = await tagOf()
  const cases = [
    { origin: caching.origin, reader: pageReader('cached, of the group that is edited', dataset) },
    { origin: forgetful.origin, reader: coldReader(dataset) },
  ]
  const rows: string[][] = []
  const saves: Latencies = { ms: [], refused: 0 }
  for (const { origin, reader } of cases) {
    progress(`reading ${reader.name}`)
    const readAmongSaves = (forSeconds: number) =>
      Promise.all([read(origin, reader, forSeconds), save(origin, forSeconds)])
    await readAmongSaves(Math.min(warmUpSeconds, seconds))
    const alone = await read(origin, reader, seconds)
    const [among, saved] = await readAmongSaves(seconds)
    saves.ms.push(...saved.ms)
    rows.push([reader.name, ...figures(alone), ...figures(among)])
  }
  return { rows, saves: figures(saves), isUnchanged: (await tagOf()) === before }
}

/** How autosaves of working copies delay reads. */
export async function benchAutosaves(setup: Setup): Promise<Finding> {
  const { engines, items, rounds, seconds, stock, settings, progress } = setup
  const tables: string[] = []
  const duration = rounds * seconds
  for (const engine of engines) {
    await using dataset = await stock.createTemporary(engine, { items })
    const { rows, saves, isUnchanged } = await measureDataset(dataset, { seconds: duration, settings, progress })
    if (!isUnchanged) throw new Error('Autosaves changed a delivered answer.')
    const head = ['a page of 20', ...['alone', 'among saves'].flatMap((when) => [`${when}: p50`, 'p99', 'most'])]
    const own = table(['saves', 'p50', 'p99', 'most'], [[`${savesPerSecond} a second of ${editors} editors`, ...saves]])
    tables.push(`### ${engineNames[engine]}

${table(head, rows)}

${own}`)
  }
  return {
    about: `Latency of ${readsPerSecond} reads a second from ${inCount(items)} items of 2 KB, for ${duration} s alone and as long while ${editors} editors save working copies of
${editors} items, ${savesPerSecond} times a second together (\`PATCH /manage/groups/:groupId/objects/:objectId/draft\`), in the same process. The answers and their ETags stay the same throughout. Before, there are
${warmUpSeconds} s of both to warm up. Requests are sent at their time, whether earlier ones were answered or not. Client, server and database share the machine.`,
    tables: tables.join('\n\n'),
  }
}
