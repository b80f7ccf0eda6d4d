import { open } from 'node:fs/promises'
import type { MediaType } from '../../content/schema.ts'
import { invalid } from '../../core/errors.ts'
import { type Extension, extensionFor, formats } from './formats.ts'
import { createReader } from './reader.ts'
import { measurePicture } from './size.ts'
import { decodeText, findRoot, svgSize, textExtension } from './text-type.ts'

export interface FileFacts {
  contentType: string
  /** Belongs to the content type, so that the extension of a key can be trusted. */
  extension: string
  type: MediaType
  /** Of the picture as displayed; null for other files, and for a picture that does not state it. */
  width: number | null
  height: number | null
}

/** Enough for every signature. Picture sizes may be at any position, and are read there. */
const headBytes = 64 * 1024

const textFormats: ReadonlySet<Extension> = new Set(['pdf', 'rtf', 'ps', 'eps', 'ics', 'vcf', 'vtt'])

/** A file may begin like a format without being one: the parser of that format then fails. */
async function detectBinary(head: Buffer): Promise<Extension> {
  const { fileTypeFromBuffer } = await import('file-type') // large, and needed for uploads only
  const detected = await fileTypeFromBuffer(head).catch(() => undefined)
  // The directory that distinguishes kinds of TIFF may be at the end of the file.
  const isTiff = ['II*\0', 'MM\0*'].includes(head.toString('latin1', 0, 4))
  return extensionFor(detected?.ext ?? (isTiff ? 'tif' : undefined))
}

/**
 * Text takes precedence: "BMW" begins like a bitmap and "GIF89a=1/*" like a GIF, but both are text. Every picture, sound
 * or archive contains control characters.
 */
async function detectExtension(head: Buffer, text: string | undefined): Promise<Extension> {
  const detected = await detectBinary(head)
  if (text === undefined) return detected
  return textFormats.has(detected) ? detected : textExtension(text)
}

function checkPixels({ width, height }: { width: number; height: number }, maxPixels: number): void {
  const count = (value: number): string => value.toLocaleString('en')
  if (width * height > maxPixels) {
    throw invalid(
      `The picture has ${count(width * height)} pixels (${width} × ${height}); at most ${count(maxPixels)} are ` +
        'allowed. Make it smaller and upload it again.',
    )
  }
}

/** Inspects the bytes alone: the name and the declared type can be wrong. */
export async function inspectFile(path: string, { maxPixels }: { maxPixels: number }): Promise<FileFacts> {
  await using file = await open(path)
  const reader = await createReader(file)
  if (reader.size === 0) throw invalid('The file is empty.')
  const head = Buffer.from(await reader.read(0, headBytes))
  const text = decodeText(head, head.length === reader.size)
  const extension = await detectExtension(head, text)
  const facts = { ...formats[extension], extension, width: null, height: null }
  if (facts.type !== 'image') return facts
  if (extension === 'svg') {
    const root = findRoot(text ?? '')
    return root ? { ...facts, ...svgSize(root) } : facts
  }
  const size = await measurePicture(reader, extension)
  if (size === undefined) {
    throw invalid(`The picture is damaged: it begins like ${facts.contentType}, but its size cannot be read.`)
  }
  if (size) checkPixels(size, maxPixels)
  return { ...facts, ...size }
}
