import { addAbortSignal, type Readable } from 'node:stream'
import { createLruMap } from '../cache/lru-map.ts'
import type { MediaStorage } from '../media/storage.ts'
import type { MediaFile } from '../store/media/files.ts'
import { findMediaByKeys } from '../store/media/items.ts'
import type { GroupStore } from '../store/store.ts'

/** A picture attached to an e-mail, with the size at which it is displayed. */
export interface Logo {
  content: Buffer
  contentType: string
  width: number
  height: number
}

/** Supported by every mail client. */
const supportedTypes = ['image/png', 'image/jpeg', 'image/gif']
const maxBytes = 150 * 1024
const displaySize = { width: 200, height: 64 }
/** For screens with two device pixels per CSS pixel. */
const pixelSize = { width: 400, height: 128 }
const readTimeoutMs = 10_000
const maxCached = 50

async function readAll(stream: Readable, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of addAbortSignal(AbortSignal.timeout(readTimeoutMs), stream)) {
    bytes += chunk.length
    if (bytes > limitBytes) throw new Error('The file is larger than recorded.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function fit(size: { width: number; height: number }): { width: number; height: number } {
  const scale = Math.min(1, displaySize.width / size.width, displaySize.height / size.height)
  return { width: Math.max(1, Math.round(size.width * scale)), height: Math.max(1, Math.round(size.height * scale)) }
}

/**
 * Scales a derivative that we made ourselves: uploaded files are decoded only in a separate process, where a bug of the decoder
 * does no harm.
 */
async function scaleDerivative(file: MediaFile, read: (key: string, limitBytes: number) => Promise<Buffer>) {
  const pictures = file.derivatives.filter(({ format }) => format === 'webp').sort((a, b) => a.width - b.width)
  const picture = pictures.find(({ width }) => width >= pixelSize.width) ?? pictures.at(-1)
  if (!picture) return undefined
  const { default: sharp } = await import('sharp')
  const { data, info } = await sharp(await read(picture.key, picture.bytes))
    .resize({ ...pixelSize, fit: 'inside', withoutEnlargement: true })
    .png({ palette: true })
    .toBuffer({ resolveWithObject: true })
  return data.length > maxBytes ? undefined : { content: data, contentType: 'image/png', ...fit(info) }
}

async function makeLogo(storage: MediaStorage, bucketName: string, file: MediaFile): Promise<Logo | undefined> {
  const read = (key: string, limitBytes: number) => readAll(storage.read(bucketName, key), limitBytes)
  const { key, bytes, contentType, width, height } = file
  if (width === null || height === null) return undefined
  if (supportedTypes.includes(contentType) && bytes <= maxBytes)
    return { content: await read(key, maxBytes), contentType, ...fit({ width, height }) }
  return scaleDerivative(file, read)
}

/** Undefined if no logo can be shown, for any reason: the e-mail is then sent without it. */
export type ReadLogo = (bucketName: string, group: GroupStore, mediaKey: string) => Promise<Logo | undefined>

/** Cached by file id: files are immutable. */
export function createLogoReader(storage: MediaStorage): ReadLogo {
  const cache = createLruMap<string, Logo>(maxCached)
  return async (bucketName, group, mediaKey) => {
    const [item] = await findMediaByKeys(group, [mediaKey])
    if (!item) return undefined
    const cached = cache.get(item.file.id)
    if (cached) return cached
    const logo = await makeLogo(storage, bucketName, item.file).catch(() => undefined)
    if (logo) cache.set(item.file.id, logo)
    return logo
  }
}
