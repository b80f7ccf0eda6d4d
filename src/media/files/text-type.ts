import type { Extension } from './formats.ts'

/** The control characters except tab, line feed, form feed, return and escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what it matches
const controlCharacter = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/

/** The start of a file as text; undefined if it is not text. The last character may be incomplete. */
export function decodeText(head: Buffer, isWhole: boolean): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: !isWhole })
    return controlCharacter.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** What may precede the first element: white space, declarations and instructions, comments, a document type. */
const beforeRoot = /\s+|<\?.*?\?>|<!--.*?-->|<!doctype\b[^[>]*(?:\[[^\]]*\][^>]*)?>/isy
const element = /<(?:[\p{L}_][\p{L}\p{N}._-]*:)?([\p{L}_][\p{L}\p{N}._-]*)(?=[\s/>]|$)((?:[^>"']|"[^"]*"|'[^']*')*)/uy

/** Elements with which a page may begin; a superset of those that browsers sniff. */
const htmlElements = new Set(
  (
    'a abbr address article aside audio b base blockquote body br button canvas center code details dialog div dl ' +
    'em embed fieldset figure font footer form frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ' +
    'label link main map marquee math menu meta nav noscript object ol p picture plaintext pre script section ' +
    'select small span strong style summary table template textarea title u ul video xmp'
  ).split(' '),
)

/** The first element of a document. */
export interface Root {
  name: string
  attributes: string
}

export function findRoot(text: string): Root | undefined {
  let at = 0
  for (;;) {
    beforeRoot.lastIndex = at
    if (!beforeRoot.test(text)) break
    at = beforeRoot.lastIndex
  }
  element.lastIndex = at
  const match = element.exec(text)
  return match ? { name: match[1] ?? '', attributes: match[2] ?? '' } : undefined
}

/** SVG, HTML, XML or plain text. When in doubt HTML, which is never shown inline. */
export function textExtension(text: string): Extension {
  const root = findRoot(text)
  const start = text.trimStart().toLowerCase()
  if (root?.name.toLowerCase() === 'svg') return 'svg'
  if (/^<!doctype\s+html\b/.test(start) || (root && htmlElements.has(root.name.toLowerCase()))) return 'html'
  if (start.startsWith('<?xml') || (root && /\sxmlns\b/.test(root.attributes))) return 'xml'
  return start.startsWith('<!') ? 'html' : 'txt'
}

/** Pixels for a length such as "24", "24px" or "1.5e2"; other units depend on where the picture is shown. */
function pixels(text: string | undefined): number | null {
  const match = /^\s*(\d+(?:\.\d+)?(?:e\d+)?)(?:px)?\s*$/i.exec(text ?? '')
  const value = Math.round(Number(match?.[1]))
  return match && value > 0 && value <= 1_000_000 ? value : null
}

/** The size stated in an SVG, by width and height or by its view box. */
export function svgSize({ attributes }: Root): { width: number | null; height: number | null } {
  const values = new Map(
    [...attributes.matchAll(/\s([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, name, double, single]) => [
      name,
      double ?? single ?? '',
    ]),
  )
  const [width, height] = [pixels(values.get('width')), pixels(values.get('height'))]
  if (width && height) return { width, height }
  if (values.has('width') || values.has('height')) return { width: null, height: null }
  const box = (values.get('viewBox') ?? '').trim().split(/[\s,]+/)
  const [boxWidth, boxHeight] = box.length === 4 ? [pixels(box[2]), pixels(box[3])] : [null, null]
  return boxWidth && boxHeight ? { width: boxWidth, height: boxHeight } : { width: null, height: null }
}
