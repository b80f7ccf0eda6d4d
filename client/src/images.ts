import type { CurrentFile, MediaValue } from './wire.ts'

/** Named as in HTML, for `setAttribute`, template engines, Vue, Svelte and Solid. */
export interface ImageAttributes {
  src: string
  srcset?: string
  sizes?: string
  width?: number
  height?: number
  alt: string
  loading: 'lazy' | 'eager'
  decoding: 'async'
  style?: string
}

/** Named as in React. */
export interface ImageProps extends Omit<ImageAttributes, 'srcset' | 'style'> {
  srcSet?: string
  style?: { background: string }
}

export interface ImageOptions {
  /** The text alternative. Default: the media value's own `alt`, or '' for decoration. */
  alt?: string | undefined
  /** The width of the picture on the page, such as `(min-width: 60rem) 30rem, 100vw`. Default: `100vw`. */
  sizes?: string | undefined
  /** `eager` for pictures that are visible at once, such as the one at the top. Default: `lazy`. */
  loading?: 'lazy' | 'eager' | undefined
}

type Optional<Media> = Media | null | undefined

// The browser's own default, written out for valid HTML. A picture is at worst loaded too large, never blurred.
const defaultSizes = '100vw'

/** The attributes of an `<img>`; undefined without a picture, so that an optional field needs no check. */
export function imageAttributes(media: MediaValue, options?: ImageOptions): ImageAttributes
export function imageAttributes(media: Optional<MediaValue>, options?: ImageOptions): ImageAttributes | undefined
export function imageAttributes(media: Optional<MediaValue>, options?: ImageOptions): ImageAttributes | undefined {
  if (!media) return undefined
  const { srcSet, style, ...same } = imageProps(media, options)
  return {
    ...same,
    ...(srcSet && { srcset: srcSet }),
    ...(style && { style: `background: ${style.background}` }),
  }
}

/** `<img {...imageProps(post.objectValue.cover)} />` in React; undefined without a picture. */
export function imageProps(media: MediaValue, options?: ImageOptions): ImageProps
export function imageProps(media: Optional<MediaValue>, options?: ImageOptions): ImageProps | undefined
export function imageProps(
  media: Optional<MediaValue>,
  { alt, sizes = defaultSizes, loading = 'lazy' }: ImageOptions = {},
): ImageProps | undefined {
  if (!media) return undefined
  const { source, srcset, width, height } = media.currentFile
  const background = backgroundOf(media.currentFile)
  return {
    src: source,
    ...(srcset && { srcSet: srcset, sizes }),
    ...(width && height && { width, height }),
    alt: alt ?? (typeof media.alt === 'string' ? media.alt : ''),
    loading,
    decoding: 'async',
    ...(background && { style: { background } }),
  }
}

/** A `<picture>` as HTML, with AVIF for browsers that support it; undefined without a picture. */
export function pictureHtml(media: MediaValue, options?: ImageOptions): string
export function pictureHtml(media: Optional<MediaValue>, options?: ImageOptions): string | undefined
export function pictureHtml(media: Optional<MediaValue>, options?: ImageOptions): string | undefined {
  if (!media) return undefined
  const image = imageAttributes(media, options)
  const { avifSrcset } = media.currentFile
  const sizes = options?.sizes ?? defaultSizes
  const avif = avifSrcset ? writeTag('source', { type: 'image/avif', srcset: avifSrcset, sizes }) : ''
  return `<picture>${avif}${writeTag('img', { ...image })}</picture>`
}

/**
 * Shown until the picture is loaded. A colour without a placeholder is not used: the picture may be transparent, and the
 * colour would remain visible. Both are validated, since any other text could inject styles.
 */
function backgroundOf({ color = '', placeholder = '' }: CurrentFile): string | undefined {
  if (!/^data:image\/[\w.+-]+;base64,[\w+/=]+$/.test(placeholder)) return undefined
  const picture = `url("${placeholder}") center/cover no-repeat`
  return /^#[0-9a-f]{6}$/i.test(color) ? `${color} ${picture}` : picture
}

function writeTag(name: string, attributes: Record<string, string | number>): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeAttribute(String(value))}"`)
  return `<${name}${written.join('')}>`
}

const entities: Record<string, string> = { '&': '&amp;', '"': '&quot;', "'": '&#39;', '<': '&lt;', '>': '&gt;' }

const escapeAttribute = (value: string): string => value.replace(/[&"'<>]/g, (sign) => entities[sign] ?? sign)
