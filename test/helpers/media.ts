import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Data, type Editing, editing } from './editing.ts'
import type { TestEngine } from './harness.ts'
import { fileForm } from './manage.ts'

/** A user who works with the files of a group. */
export interface Librarian extends Editing {
  /** Uploads a file that must be accepted. */
  add(name: string, content: string | Buffer): Promise<Data>
  /** The sorted keys of all files in the bucket. */
  stored(): Promise<string[]>
  /** Everything that an upload may leave behind: files in the inbox and in the bucket, and their rows. */
  traces(): Promise<{ inbox: string[]; stored: string[]; media: number; files: number; jobs: number }>
}

export async function librarian(engine: TestEngine, env: Record<string, string> = {}): Promise<Librarian> {
  const created = await editing(engine, { env })
  const { group, service, config, does } = created
  const { read } = group.store.database

  async function stored(): Promise<string[]> {
    const files = await Array.fromAsync(service.media.storage.list(group.group.bucketName, group.groupId))
    return files.map(({ key }) => key)
  }

  return {
    ...created,
    add: (name, content) => does('POST', '/media', fileForm(name, content)),
    stored,
    async traces() {
      const count = async (table: 'media' | 'media_files' | 'jobs') =>
        (await read.selectFrom(table).select('id').execute()).length
      return {
        inbox: await readdir(join(config.dataDir, 'inbox')).catch(() => []),
        stored: await stored(),
        media: await count('media'),
        files: await count('media_files'),
        jobs: await count('jobs'),
      }
    },
  }
}

export const noTraces = { inbox: [], stored: [], media: 0, files: 0, jobs: 0 }

/** Reads the whole body: a server waits for a client that does not read. */
export async function load(address: string): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const answer = await fetch(address)
  const bytes = Buffer.from(await answer.arrayBuffer())
  return { status: answer.status, headers: answer.headers, bytes }
}
