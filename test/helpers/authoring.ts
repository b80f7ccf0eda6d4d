import type { Container } from '../../src/content/model.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { makeId } from '../../src/core/ids.ts'
import { type Authoring, type ContentWriter, writeContent } from '../../src/store/content/changes.ts'
import { insertContainer } from '../../src/store/content/containers.ts'
import { insertObjects, type NewObject } from '../../src/store/content/objects.ts'
import * as previews from '../../src/store/content/preview-tokens.ts'
import { insertSite, type NewSite } from '../../src/store/content/sites.ts'
import * as apiKeys from '../../src/store/control/api-keys.ts'
import type { NewGroup } from '../../src/store/control/groups.ts'
import * as groups from '../../src/store/control/groups.ts'
import { insertFile } from '../../src/store/media/files.ts'
import { insertMedia } from '../../src/store/media/items.ts'
import type { GroupStore, Store } from '../../src/store/store.ts'

/** Shortcuts for tests that write to the store directly. */
export const authoring = (nowMs: number): Authoring => ({
  author: { id: null, name: 'test', address: '' },
  verb: 'test',
  nowMs,
  versionsKept: 50,
  allowsMissing: true,
})

export const write = <Result>(
  group: GroupStore,
  nowMs: number,
  work: (writer: ContentWriter) => Promise<Result>,
): Promise<Result> => writeContent(group, authoring(nowMs), work)

export const createContainer = (
  group: GroupStore,
  { kind, name, schema }: { kind: Container['kind']; name: string; schema: unknown },
  nowMs: number,
) => write(group, nowMs, (writer) => insertContainer(writer, { kind, name, schema: parseSchema(schema) }))

export const createObjects = (group: GroupStore, container: Container, inputs: readonly NewObject[], nowMs: number) =>
  write(group, nowMs, (writer) => insertObjects(writer, container, inputs))

export const createSite = (group: GroupStore, site: NewSite, nowMs: number) =>
  write(group, nowMs, (writer) => insertSite(writer, site))

export const createPreviewToken = (
  group: GroupStore,
  input: Parameters<typeof previews.createPreviewToken>[1],
  nowMs: number,
) => write(group, nowMs, (writer) => previews.createPreviewToken(writer, input))

export const revokePreviewToken = (group: GroupStore, id: string, nowMs: number) =>
  write(group, nowMs, (writer) => previews.revokePreviewToken(writer, id))

export const createGroup = (store: Store, input: NewGroup, nowMs: number) =>
  groups.createGroup(store, input, authoring(nowMs))

export const createApiKey = (store: Store, groupId: string, label: string, nowMs: number) =>
  apiKeys.createApiKey(store, groupId, label, authoring(nowMs))

export const revokeApiKey = async (store: Store, groupId: string, which: string, nowMs: number) =>
  apiKeys.revokeApiKey(store, await apiKeys.findApiKey(store, groupId, which), authoring(nowMs))

export const setFrozen = async (store: Store, groupId: string, frozen: boolean) =>
  groups.updateGroup(store, await groups.findGroupById(store, groupId), { frozen }, authoring(0))

/** A library item with a chosen key, as if a picture had been uploaded. */
export const createItem = (group: GroupStore, key: string, nowMs: number) =>
  write(group, nowMs, async (writer) => {
    const id = makeId()
    const looks = { width: 1, height: 1, color: null, placeholder: null, derivatives: [], problem: null }
    const file = { id, key, sha256: id, bytes: 1, contentType: 'image/png', ...looks, createdMs: nowMs }
    await insertFile(writer, file)
    const at = { version: 1, createdMs: nowMs, updatedMs: nowMs }
    await insertMedia(writer, { id, key, name: key, type: 'image', file, ...at })
  })
