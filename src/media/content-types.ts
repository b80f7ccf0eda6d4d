import send from '@fastify/send'
import { type Extension, formats } from './files/formats.ts'

/** What a browser may show in our own origin: nothing that can contain a script. */
const inlineTypes =
  /^(image\/(png|jpeg|gif|webp|avif)|video\/(mp4|webm)|audio\/(mpeg|ogg|wav)|application\/pdf|text\/plain)(;|$)/

/** The content type by the key's extension. Files added to the bucket by hand may have any. */
export function contentTypeOf(key: string): string {
  const extension = key.slice(key.lastIndexOf('.') + 1)
  const known = Object.hasOwn(formats, extension) ? formats[extension as Extension].contentType : send.mime.getType(key)
  const type = known ?? 'application/octet-stream'
  return send.isUtf8MimeType(type) ? `${type}; charset=utf-8` : type
}

/** Whether a browser may show a file or has to download it. */
export const dispositionOf = (contentType: string): 'inline' | 'attachment' =>
  inlineTypes.test(contentType) ? 'inline' : 'attachment'
