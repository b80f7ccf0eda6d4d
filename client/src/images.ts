import type { CurrentFile, MediaValue } from './wire.ts'

/** What HTML calls them: `setAttribute`, a template engine, Vue, Svelte, Solid. */
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

/** The same as React spells it. */
export interface ImageProps extends Omit<ImageAttributes, 'srcset' | 'style'> {
  srcSet?: string
  style?: { background: string }
}

export interface ImageOptions {
  /** What the picture says, for those who do not see it. Without it the media value's own `alt`, or decoration: ''. */
  alt?: string | undefined
  /** How wide the picture is on the page, such as `(min-width: 60rem) 30rem, 100vw`. Default: `100vw`. */
  sizes?: string | undefined
  /** `eager` for what is seen at once, such as the picture at the top. Default: `lazy`. */
  loading?: 'lazy' | 'eager' | undefined
}

type Optional<Media> = Media | null | undefined

// What a browser assumes by itself, made valid HTML. A picture is then at worst larger than its place, never blurred.
const defaultSizes = '100vw'

/** The attributes of an `<img>`; undefined when there is no picture, so that an optional field needs no question. */
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

/** `<img {...imageProps(post.objectValue.cover)} />` in React; undefined when there is no picture. */
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

/** A whole `<picture>` as HTML, with AVIF for the browsers that know it; undefined when there is no picture. */
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
 * Shown until the picture covers it. A colour alone is not painted: a picture without placeholder may be transparent,
 * and would keep it for good. Both are checked, since what is not a colour or a picture could carry on the style.
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

function escapeAttribute(value: string): string {
  return value.replace(/[&"'<>]/g, (sign) => entities[sign] ?? sign)
}
