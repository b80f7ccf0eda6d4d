import { statfs } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { canDerive } from '../media/files/derive.ts'
import { type FoundDatabases, findDatabases, usableDatabase } from '../store/checks/databases.ts'
import type { Author } from '../store/content/changes.ts'
import { findGroup, type Group, listGroups, openContentOf } from '../store/control/groups.ts'
import type { Store } from '../store/store.ts'
import { type CheckedGroup, type DoctorContext, type Machine, NotChecked } from './check.ts'

export interface DoctorOptions {
  config: Config
  clock: Clock
  machine: Machine
  /** Only the content of this group, by its id or name. */
  groupNamed: string | undefined
  repairAs: Author | undefined
  progress(text: string): void
}

export const thisMachine: Machine = {
  nodeVersion: process.versions.node,
  get uid() {
    return process.getuid?.()
  },
  async diskSpace(path) {
    const { bavail, blocks, bsize } = await statfs(path)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  },
  canDerive,
}

function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => {
    result ??= work()
    return result
  }
}

/** The databases at this version's schema, as a store. Unlike `openStore` this creates and migrates nothing. */
function storeOf({ control, contents, close }: FoundDatabases): Store {
  if (!control.database) throw new NotChecked('there is no control database to read')
  const known = usableDatabase(control)
  if (!known) throw new NotChecked('the control database has the schema of another version')
  return {
    control: known,
    quotas: undefined,
    async content(name) {
      const found = contents.find((candidate) => candidate.name === name)
      const database = found && usableDatabase(found)
      if (!database) throw new NotChecked(`the database "${name}" cannot be read, or has the schema of another version`)
      return database
    },
    isReady: async () => true,
    poolUse: () => undefined,
    isWriting: () => false,
    close,
  }
}

/** Omits groups under deletion, and those whose database cannot be read, which is another check's finding. */
async function contentOf(store: Store, groups: readonly Group[]): Promise<CheckedGroup[]> {
  const current = groups.filter(({ deletingMs }) => deletingMs === null)
  const opened = await Promise.allSettled(
    current.map(async (group) => ({ group, content: await openContentOf(store, group) })),
  )
  const failed = opened.find((one) => one.status === 'rejected')
  if (failed && opened.every((one) => one.status === 'rejected')) throw failed.reason
  return opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
}

export interface OpenedContext extends DoctorContext {
  /** Throws if the group does not exist. Does nothing if the groups cannot be read. */
  refuseUnknownGroup(): Promise<void>
  close(): Promise<void>
}

export function createDoctorContext(options: DoctorOptions): OpenedContext {
  const { config, groupNamed } = options
  const reach = once(() => findDatabases({ ...config, onConnectionError: () => {} }))
  const databases = () =>
    reach().catch(() => {
      throw new NotChecked('the databases cannot be reached')
    })
  const store = once(async () => storeOf(await databases()))
  const groups = once(async () => {
    const all = await store()
    return contentOf(all, groupNamed === undefined ? await listGroups(all) : [await findGroup(all, groupNamed)])
  })
  return {
    ...options,
    reach,
    databases,
    store,
    groups,
    async refuseUnknownGroup() {
      if (groupNamed === undefined) return
      await groups().catch((error: unknown) => {
        if (error instanceof AppError) throw error
      })
    },
    close: async () => (await reach().catch(() => undefined))?.close(),
  }
}
