import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { isFilterable, isSearchable, isSortable } from '../../src/content/schema.ts'
import { listContainers } from '../../src/store/content/containers.ts'
import { iterateObjects } from '../../src/store/content/objects.ts'
import { listSites } from '../../src/store/content/sites.ts'
import { findGroupById, listGroups, openContentOf } from '../../src/store/control/groups.ts'
import type { GroupStore, Store } from '../../src/store/store.ts'
import { exportGroup } from '../../src/transfer/export/export-group.ts'
import { type ExportLine, linesFile } from '../../src/transfer/export-format.ts'
import { type ImportOptions, importGroup } from '../../src/transfer/import/import-group.ts'
import type { OnProgress } from '../../src/transfer/progress.ts'
import { createApiKey, createPreviewToken } from '../helpers/authoring.ts'
import type { Harness } from '../helpers/harness.ts'

/** An unused path; its folder is removed after the test. */
export function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-export-'))
  after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'shop')
}

const author = { id: null, name: 'test', address: '' }

export async function exportOf({ service, clock }: Harness, groupId: string, folder = newPath()): Promise<string> {
  const { store } = service
  const { storage } = service.media
  const group = await findGroupById(store, groupId)
  await exportGroup({ store, storage, nowMs: clock.now, onProgress: () => {} }, group, folder)
  return folder
}

/** Imports into the group named in the export if it exists, unless the test overrides that. */
export async function importInto(
  { service, clock }: Harness,
  folder: string,
  options: Partial<ImportOptions> = {},
  onProgress: OnProgress = () => {},
) {
  const { store } = service
  const { storage, signedUrlLifetimeMs } = service.media
  const deps = { store, storage, nowMs: clock.now, author, signedUrlLifetimeMs, onProgress }
  const named = (await listGroups(store)).find(({ id }) => readHead(folder).includes(id))?.id
  return importGroup(deps, folder, { isEdited: false, isDryRun: false, into: named, ...options })
}

function readHead(folder: string): string {
  try {
    return readFileSync(join(folder, linesFile), 'utf8').split('\n', 1)[0] ?? ''
  } catch {
    return '' // the import reports the problem
  }
}

export const readExport = (folder: string): ExportLine[] =>
  readFileSync(join(folder, linesFile), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

export const writeExport = (folder: string, lines: readonly unknown[]): void =>
  writeFileSync(join(folder, linesFile), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))

/** Everything stored, table by table: equal texts mean equal databases. */
export async function dumpOf(store: Store, database = 'main'): Promise<string> {
  const content = (await store.content(database)).read
  const control = store.control.read
  const rows = {
    groups: await control.selectFrom('groups').selectAll().orderBy('id').execute(),
    // Except when a key was last used, which is written with a delay.
    keys: (await control.selectFrom('api_keys').selectAll().orderBy('id').execute()).map(
      ({ last_used_ms: _, ...key }) => key,
    ),
    controlChanges: await control.selectFrom('changes').selectAll().orderBy('id').execute(),
    sites: await content.selectFrom('sites').selectAll().orderBy('id').execute(),
    containers: await content.selectFrom('containers').selectAll().orderBy('id').execute(),
    objects: await content.selectFrom('objects').selectAll().orderBy('id').execute(),
    versions: await content.selectFrom('object_versions').selectAll().orderBy('object_id').orderBy('version').execute(),
    fields: await content
      .selectFrom('object_fields')
      .selectAll()
      .orderBy('object_id')
      .orderBy('field')
      .orderBy('filter_key')
      .execute(),
    totals: await content
      .selectFrom('totals')
      .selectAll()
      .orderBy('container_id')
      .orderBy('field')
      .orderBy('filter_key')
      .execute(),
    revisions: await content.selectFrom('group_revisions').selectAll().orderBy('group_id').execute(),
    changes: await content.selectFrom('changes').selectAll().orderBy('group_id').orderBy('seq').execute(),
    files: await content.selectFrom('media_files').selectAll().orderBy('id').execute(),
    library: await content.selectFrom('media').selectAll().orderBy('id').execute(),
    orders: await content.selectFrom('orders').selectAll().orderBy('id').execute(),
    jobs: await content.selectFrom('jobs').selectAll().orderBy('id').execute(),
    previews: await content.selectFrom('preview_tokens').selectAll().orderBy('id').execute(),
  }
  return JSON.stringify(rows, null, 1)
}

/** All URLs of a group's content: lists by every field, groups of products, sites. */
async function addressesOf(group: GroupStore): Promise<string[]> {
  const sites = (await listSites(group)).map(({ id }) => `siteDetails?siteId=${id}`)
  const lists: string[] = []
  for (const { id, kind, name, schema } of await listContainers(group)) {
    const list = kind === 'collection' ? `collectionObjects?collectionId=${id}` : `integrationObjects?type=${name}`
    const [object] = await Array.fromAsync(iterateObjects(group, id))
    const queries = ['', '&limit=2&skip=1', '&sort=createdAt:desc', '&sort=updatedAt:asc', '&sort=publishDate:desc']
    for (const [field, rules] of schema) {
      const value = object?.value[field]
      if (isSortable(rules)) queries.push(`&sort=${field}:asc`, `&sort=${field}:desc&limit=3`)
      if (isFilterable(rules) && typeof value === 'string')
        queries.push(`&filters[${field}]=${encodeURIComponent(value)}`)
      if (isSearchable(rules) && typeof value === 'string')
        queries.push(`&search=${encodeURIComponent(value.split(/\W/)[0] ?? '')}`)
      if (kind === 'integration' && isFilterable(rules)) queries.push(`&groupBy[key]=${field}`)
    }
    lists.push(...queries.map((query) => list + query))
  }
  return [...sites, ...lists].map((address) => `/tenant/${address}`)
}

const withoutSignatures = (body: string): string => body.replace(/(expires|signature)=[\w-]+/g, '$1=*')

/** Everything delivered of a group, and previews of hidden objects, by URL. */
export async function deliveryOf(harness: Harness, groupId: string): Promise<Map<string, string>> {
  const { service, app, clock } = harness
  const group = await openContentOf(service.store, await findGroupById(service.store, groupId))
  const { key } = await createApiKey(service.store, groupId, 'test', clock.now)
  const answers = new Map<string, string>()
  const ask = async (address: string, name = address): Promise<void> => {
    const { statusCode, body } = await app.inject({ url: address, headers: { authorization: key } })
    answers.set(name, `${statusCode} ${withoutSignatures(body)}`)
  }
  for (const address of await addressesOf(group)) await ask(address)
  for (const { id } of await listContainers(group)) {
    for await (const object of iterateObjects(group, id)) {
      if (!object.archived && object.publishMs <= clock.now) continue
      const { token } = await createPreviewToken(group, { objectId: object.id }, clock.now)
      await ask(`/tenant/preview?token=${token}`, `preview of ${object.id}`)
    }
  }
  return answers
}
