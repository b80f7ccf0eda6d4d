import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { readConfig } from '../../src/config/config.ts'
import { findUnfilledContainers } from '../../src/store/content/fill-search-index.ts'
import type { NewObject } from '../../src/store/content/objects.ts'
import { createUser } from '../../src/store/control/users.ts'
import type { Database } from '../../src/store/engine/database.ts'
import type { ContentTables } from '../../src/store/schema/tables.ts'
import { openGroup, type Store } from '../../src/store/store.ts'
import { assertSound, examineAll } from '../doctor/patient.ts'
import {
  authoring,
  createApiKey,
  createContainer,
  createGroup,
  createObjects,
  createSite,
} from '../helpers/authoring.ts'
import { makeFormer, openAsItIs } from '../helpers/former-database.ts'
import { createMigratedDatabase, onBothEngines, openTestStore, testStartMs } from '../helpers/harness.ts'
import * as lists from '../helpers/list-queries.ts'
import { type Item, listByReference, type Query } from '../helpers/list-reference.ts'
import { startServer, startWithoutWaiting } from '../helpers/process.ts'

/** `npm run prove -- upgrade` sets more. */
const objects = Number(process.env.UPGRADE_OBJECTS ?? 700)
const kills = Number(process.env.UPGRADE_KILLS ?? 2)
const queries = Number(process.env.UPGRADE_QUERIES ?? 40)

/** The first step after version 0.7. */
const firstNewStep = 'working copies, archive dates and previews of whole sites'
const { parts: _, ...schema } = lists.schema // nested values are new
const rules = { ...lists.rules, searchable: lists.rules.searchable.filter((path) => !path.includes('.')) }

/** Some are scheduled, whatever the time is. */
const inputs: NewObject[] = lists.makeItems(objects).map(({ value: { parts, ...value }, ...input }, position) => ({
  ...input,
  value,
  ...(position % 17 === 0 && { publishMs: Date.UTC(2999, 0) }),
}))

/** What version 0.7 stored to be searched: all text, where the present version stores each word once. */
function formerSearchText(value: Record<string, unknown>): string {
  const texts = Object.keys(schema)
    .filter((name) => rules.searchable.includes(name))
    .flatMap((name) => {
      const stored = value[name]
      const all = typeof stored === 'object' && stored !== null ? Object.values(stored) : stored === undefined ? [] : [stored] // biome-ignore format: short
      return all.map((text) => String(text).replace(/<[^<>]*>/g, ' ').replaceAll('&amp;', '&')) // biome-ignore format: short
    })
  return texts.join('\n').normalize('NFC').toLowerCase()
}

const storeFormerTexts = ({ write }: Database<ContentTables>, items: Item[]): Promise<void> =>
  write(async (db) => {
    for (const { id, value } of items)
      await db
        .updateTable('objects')
        .set({ search_text: formerSearchText(value) })
        .where('id', '=', id)
        .execute()
  })

const iso = (ms: number): string => new Date(ms).toISOString()

/** An answer of version 0.7, from a plain array. */
function answerTo(asked: Query, items: Item[], collectionId: string): string | 'refused' {
  const byId = new Map(items.map((item) => [item.id, item]))
  const found = listByReference(rules, items, asked, Date.now())
  if (found === 'refused') return found
  const delivered = found.ids.map((_id) => {
    const { value, publishMs, createdMs = 0, updatedMs } = byId.get(_id) as Item
    const { secret, ...shown } = value
    return {
      _id,
      objectValue: { _id, ...shown, mediaFields: {} },
      collectionObj: { name: 'Items', refID: collectionId },
      publishDate: publishMs === undefined ? null : iso(publishMs),
      archived: false,
      createdAt: iso(createdMs),
      updatedAt: iso(updatedMs),
    }
  })
  return JSON.stringify({ success: true, data: { items: delivered, totalCount: found.total }, error: null })
}

const unlimited = ['anonymous', 'free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=100000/100000`).join()

async function fill(store: Store) {
  await createUser(store, { name: 'Ada', administrator: true }, authoring(testStartMs))
  const created = await createGroup(store, { name: 'Bakery' }, testStartMs)
  const { key } = await createApiKey(store, created.id, 'website', testStartMs)
  const group = await openGroup(store, { database: created.database, groupID: created.id })
  const site = await createSite(group, { name: 'Site', domainName: 'bakery.example', settings: {} }, testStartMs)
  const collection = await createContainer(group, { kind: 'collection', name: 'Items', schema }, testStartMs)
  const productSchema = { name: { type: 'variant', of: { type: 'text' } }, price: { type: 'variant', of: { type: 'decimal' } } } // biome-ignore format: short
  const shop = await createContainer(group, { kind: 'integration', name: 'stripe', schema: productSchema }, testStartMs)
  const breads = ['Rye', 'Spelt'].map((name) => ({ value: { name: { Small: name, Large: `${name} loaf` }, price: '4.50' } })) // biome-ignore format: short
  await createObjects(group, shop, breads, testStartMs)
  const items: Item[] = []
  for (let first = 0; first < objects; first += 500) {
    const part = inputs.slice(first, first + 500)
    const stored = await createObjects(group, collection, part, testStartMs)
    items.push(...part.map((input, n) => ({ ...input, id: stored[n]?.id ?? '', updatedMs: testStartMs })))
  }
  return { key, groupId: created.id, database: created.database, siteId: site.id, collectionId: collection.id, items }
}

onBothEngines('a database of version 0.7', (engine) => {
  it('answers every query as before, also after kill -9 of servers that migrate it and fill its index, and is sound', async (context) => {
    const testDatabase = await createMigratedDatabase(engine)
    after(() => testDatabase.remove())
    const env = { ...testDatabase.env, RATE_LIMITS: unlimited }
    const before = await openTestStore(testDatabase)
    const { key, siteId, collectionId, items, ...location } = await fill(before)
    await before.close()

    const get = async (baseUrl: string, path: string): Promise<string> => {
      const answer = await fetch(baseUrl + path, { headers: { authorization: key } })
      const body = await answer.text()
      if (answer.status === 400) return 'refused'
      assert.equal(answer.status, 200, `${path} ${body}`)
      return body
    }
    const paths = [
      `/tenant/siteDetails?siteId=${siteId}`,
      '/tenant/integrationObjects?type=stripe',
      '/tenant/integrationObjects?type=stripe&search=rye',
    ]
    async function start(settings: Record<string, string> = {}) {
      const server = await startServer({ ...env, ...settings })
      after(() => server.stop())
      return server
    }
    const former = await start()
    const answers = await Promise.all(paths.map((path) => get(former.baseUrl, path)))
    await former.stop()
    await makeFormer(engine, testDatabase, firstNewStep, (database) => storeFormerTexts(database, items))

    async function assertAnswers(baseUrl: string): Promise<void> {
      for (const [position, path] of paths.entries()) assert.equal(await get(baseUrl, path), answers[position])
      for (const random of fc.sample(lists.randomQuery, queries)) {
        const asked = lists.withIds(random, items)
        const path = lists.toUrl(collectionId, asked)
        assert.equal(await get(baseUrl, path), answerTo(asked, items, collectionId), path)
      }
    }

    /** Opens it without migrating it. */
    const { read, write, close } = await openAsItIs(engine, testDatabase)
    after(close)
    /** Differs after each step of the migration and of the job. */
    async function progress(): Promise<string> {
      const steps = await read.selectFrom('migrations').select('version').execute()
      const filling = await read
        .selectFrom('search_containers')
        .select('filled_to')
        .where('container_id', '=', collectionId)
        .executeTakeFirst()
        .catch(() => undefined) // there is no table yet
      return `${steps.length} steps, ${filling === undefined ? 'no index' : `filled to ${filling.filled_to ?? 'its end'}`}`
    }
    const reached: string[] = []
    for (let round = 0; round < kills; round += 1) {
      const child = startWithoutWaiting(env)
      after(() => child.kill('SIGKILL'))
      let seen = await progress()
      for (let changes = 0; changes < 1 + round && !seen.endsWith('its end'); ) {
        assert.equal(child.exitCode, null, 'the server ended')
        await sleep(1)
        const now = await progress()
        if (now !== seen) changes += 1
        seen = now
      }
      child.kill('SIGKILL')
      await once(child, 'close')
      reached.push(seen)
      // As if the lease of the killed server had expired.
      await write((db) => db.updateTable('jobs').set({ due_ms: 0 }).where('state', '=', 'running').execute())
      const withoutJobs = await start({ JOB_WORKERS: '0' })
      await assertAnswers(withoutJobs.baseUrl)
      await withoutJobs.stop()
    }
    assert.ok(
      reached.some((text) => / filled to [^i]/.test(text)),
      `a kill hit the filling of the index: ${reached}`,
    )

    const server = await start()
    const store = await openTestStore(testDatabase)
    after(() => store.close())
    const group = await openGroup(store, { database: location.database, groupID: location.groupId })
    while ((await findUnfilledContainers(group)).length > 0) await sleep(20)
    await assertAnswers(server.baseUrl)
    assertSound(await examineAll(readConfig(env)))
    context.diagnostic(`${engine}: ${objects} objects, killed at ${reached.join('; ')}`)
  })
})
