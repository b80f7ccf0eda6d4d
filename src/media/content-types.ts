import send from '@fastify/send'
import { type Extension, formats } from './files/formats.ts'

/** What a browser may show inside our own origin: nothing that can hold a script. */
const inlineTypes =
  /^(image\/(png|jpeg|gif|webp|avif)|video\/(mp4|webm)|audio\/(mpeg|ogg|wav)|application\/pdf|text\/plain)(;|$)/

/** The type that the ending of a key stands for: one that we gave it, or one that somebody chose by hand. */
export function contentTypeOf(key: string): string {
  const ending = key.slice(key.lastIndexOf('.') + 1)
  const known = Object.hasOwn(formats, ending) ? formats[ending as Extension].contentType : send.mime.getType(key)
  const type = known ?? 'application/octet-stream'
  return send.isUtf8MimeType(type) ? `${type}; charset=utf-8` : type
}

/** Whether a browser may show a file, or is to hand it over as a download. */
export function dispositionOf(contentType: string): 'inline' | 'attachment' {
  return inlineTypes.test(contentType) ? 'inline' : 'attachment'
}
