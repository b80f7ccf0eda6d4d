import { addAbortSignal, type Readable } from 'node:stream'
import { createLruMap } from '../cache/lru-map.ts'
import type { MediaStorage } from '../media/storage.ts'
import type { MediaFile } from '../store/media/files.ts'
import { findMediaByKeys } from '../store/media/items.ts'
import type { GroupStore } from '../store/store.ts'

/** A picture that goes along with an e-mail, and how large it is shown. */
export interface Logo {
  content: Buffer
  contentType: string
  width: number
  height: number
}

/** What every mail client shows. */
const shownTypes = ['image/png', 'image/jpeg', 'image/gif']
/** It goes along with each e-mail. */
const maxBytes = 150 * 1024
const shown = { width: 200, height: 64 }
/** Screens have up to two pixels where we count one. */
const drawn = { width: 400, height: 128 }
const readingLimitMs = 10_000
const mostKept = 50

async function readAll(stream: Readable, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of addAbortSignal(AbortSignal.timeout(readingLimitMs), stream)) {
    bytes += chunk.length
    if (bytes > limitBytes) throw new Error('The file is larger than it is said to be.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function fit(size: { width: number; height: number }): { width: number; height: number } {
  const scale = Math.min(1, shown.width / size.width, shown.height / size.height)
  return { width: Math.max(1, Math.round(size.width * scale)), height: Math.max(1, Math.round(size.height * scale)) }
}

/**
 * Of what we made of the picture ourselves: a stranger's file is opened in a process of its own only, where a bug of the
 * decoder does no harm.
 */
async function drawSmaller(file: MediaFile, read: (key: string, limitBytes: number) => Promise<Buffer>) {
  const pictures = file.derivatives.filter(({ format }) => format === 'webp').sort((a, b) => a.width - b.width)
  const picture = pictures.find(({ width }) => width >= drawn.width) ?? pictures.at(-1)
  if (!picture) return undefined
  const { default: sharp } = await import('sharp')
  const { data, info } = await sharp(await read(picture.key, picture.bytes))
    .resize({ ...drawn, fit: 'inside', withoutEnlargement: true })
    .png({ palette: true })
    .toBuffer({ resolveWithObject: true })
  return data.length > maxBytes ? undefined : { content: data, contentType: 'image/png', ...fit(info) }
}

async function draw(storage: MediaStorage, bucketName: string, file: MediaFile): Promise<Logo | undefined> {
  const read = (key: string, limitBytes: number) => readAll(storage.read(bucketName, key), limitBytes)
  const { key, bytes, contentType, width, height } = file
  if (width === null || height === null) return undefined
  if (shownTypes.includes(contentType) && bytes <= maxBytes)
    return { content: await read(key, maxBytes), contentType, ...fit({ width, height }) }
  return drawSmaller(file, read)
}

/** Undefined where there is none that can be shown, for whatever reason: an e-mail does not wait for its logo. */
export type ReadLogo = (bucketName: string, group: GroupStore, mediaKey: string) => Promise<Logo | undefined>

/** Thousands of e-mails have one logo, so the last few are kept. A file never changes: a new one has a new id. */
export function createLogoReader(storage: MediaStorage): ReadLogo {
  const kept = createLruMap<string, Logo>(mostKept)
  return async (bucketName, group, mediaKey) => {
    const [item] = await findMediaByKeys(group, [mediaKey])
    if (!item) return undefined
    const known = kept.get(item.file.id)
    if (known) return known
    const logo = await draw(storage, bucketName, item.file).catch(() => undefined)
    if (logo) kept.set(item.file.id, logo)
    return logo
  }
}
