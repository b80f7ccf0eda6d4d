import type { MediaType } from '../../content/schema.ts'

export interface Format {
  contentType: string
  type: MediaType
}

export interface Size {
  width: number
  height: number
}

/** The extensions of media keys, each with its one content type. */
export const formats = {
  jpg: { contentType: 'image/jpeg', type: 'image' },
  png: { contentType: 'image/png', type: 'image' },
  gif: { contentType: 'image/gif', type: 'image' },
  webp: { contentType: 'image/webp', type: 'image' },
  avif: { contentType: 'image/avif', type: 'image' },
  svg: { contentType: 'image/svg+xml', type: 'image' },
  heic: { contentType: 'image/heic', type: 'image' },
  tif: { contentType: 'image/tiff', type: 'image' },
  bmp: { contentType: 'image/bmp', type: 'image' },
  ico: { contentType: 'image/vnd.microsoft.icon', type: 'image' },
  jxl: { contentType: 'image/jxl', type: 'image' },

  mp4: { contentType: 'video/mp4', type: 'video' },
  webm: { contentType: 'video/webm', type: 'video' },
  mov: { contentType: 'video/quicktime', type: 'video' },
  mkv: { contentType: 'video/x-matroska', type: 'video' },
  avi: { contentType: 'video/x-msvideo', type: 'video' },
  mpg: { contentType: 'video/mpeg', type: 'video' },
  ogv: { contentType: 'video/ogg', type: 'video' },
  '3gp': { contentType: 'video/3gpp', type: 'video' },
  '3g2': { contentType: 'video/3gpp2', type: 'video' },
  flv: { contentType: 'video/x-flv', type: 'video' },

  mp3: { contentType: 'audio/mpeg', type: 'file' },
  m4a: { contentType: 'audio/mp4', type: 'file' },
  ogg: { contentType: 'audio/ogg', type: 'file' },
  opus: { contentType: 'audio/ogg', type: 'file' },
  flac: { contentType: 'audio/x-flac', type: 'file' },
  wav: { contentType: 'audio/wav', type: 'file' },
  aac: { contentType: 'audio/x-aac', type: 'file' },
  aif: { contentType: 'audio/x-aiff', type: 'file' },
  mid: { contentType: 'audio/midi', type: 'file' },
  amr: { contentType: 'audio/amr', type: 'file' },

  pdf: { contentType: 'application/pdf', type: 'file' },
  rtf: { contentType: 'application/rtf', type: 'file' },
  ps: { contentType: 'application/postscript', type: 'file' },
  eps: { contentType: 'application/postscript', type: 'file' },
  psd: { contentType: 'image/vnd.adobe.photoshop', type: 'file' },
  epub: { contentType: 'application/epub+zip', type: 'file' },
  docx: { contentType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', type: 'file' },
  xlsx: { contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', type: 'file' },
  pptx: { contentType: 'application/vnd.openxmlformats-officedocument.presentationml.presentation', type: 'file' },
  odt: { contentType: 'application/vnd.oasis.opendocument.text', type: 'file' },
  ods: { contentType: 'application/vnd.oasis.opendocument.spreadsheet', type: 'file' },
  odp: { contentType: 'application/vnd.oasis.opendocument.presentation', type: 'file' },
  odg: { contentType: 'application/vnd.oasis.opendocument.graphics', type: 'file' },
  pages: { contentType: 'application/vnd.apple.pages', type: 'file' },
  numbers: { contentType: 'application/vnd.apple.numbers', type: 'file' },
  key: { contentType: 'application/vnd.apple.keynote', type: 'file' },
  ics: { contentType: 'text/calendar', type: 'file' },
  vcf: { contentType: 'text/x-vcard', type: 'file' },
  vtt: { contentType: 'text/vtt', type: 'file' },

  zip: { contentType: 'application/zip', type: 'file' },
  tar: { contentType: 'application/x-tar', type: 'file' },
  gz: { contentType: 'application/gzip', type: 'file' },
  '7z': { contentType: 'application/x-7z-compressed', type: 'file' },
  rar: { contentType: 'application/vnd.rar', type: 'file' },
  bz2: { contentType: 'application/x-bzip2', type: 'file' },
  xz: { contentType: 'application/x-xz', type: 'file' },

  woff: { contentType: 'font/woff', type: 'file' },
  woff2: { contentType: 'font/woff2', type: 'file' },
  ttf: { contentType: 'font/ttf', type: 'file' },
  otf: { contentType: 'font/otf', type: 'file' },
  ttc: { contentType: 'font/collection', type: 'file' },
  eot: { contentType: 'application/vnd.ms-fontobject', type: 'file' },
  glb: { contentType: 'model/gltf-binary', type: 'file' },

  html: { contentType: 'text/html', type: 'file' },
  xml: { contentType: 'application/xml', type: 'file' },
  txt: { contentType: 'text/plain', type: 'file' },
  bin: { contentType: 'application/octet-stream', type: 'file' },
} as const satisfies Record<string, Format>

export type Extension = keyof typeof formats

/** Extensions that file-type distinguishes and we do not. */
const sameAs: Record<string, Extension> = {
  apng: 'png',
  cur: 'ico',
  m4v: 'mp4',
  f4v: 'mp4',
  m4b: 'm4a',
  mp1: 'mp3',
  mp2: 'mp3',
  oga: 'ogg',
  spx: 'ogg',
  'tar.gz': 'gz',
}

/** Our extension for one of file-type. Formats unusual on websites are plain bytes. */
export function extensionFor(detected: string | undefined): Extension {
  const name = detected === undefined ? 'bin' : (sameAs[detected] ?? detected)
  return Object.hasOwn(formats, name) ? (name as Extension) : 'bin'
}
