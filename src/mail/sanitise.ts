import sanitizeHtml from 'sanitize-html'
import { isWebLink } from '../content/addresses.ts'
import { textToMarkup } from '../content/escape-html.ts'
import { countTags, maxTags } from './tags.ts'

/** Untrusted markup is sanitised once, on receipt; only the result is stored. */

/** Deeper tags are removed; their text is kept. */
const maxDepth = 60
/** Deeper markup is an attack on the parser, whose work grows with the depth. */
const maxParsedDepth = 1000

const textTags = [
  'p', 'br', 'hr', 'b', 'strong', 'i', 'em', 'u', 's', 'small', 'sub', 'sup', 'span', 'div', 'code', 'pre',
  'blockquote', 'h1', 'h2', 'h3', 'h4', 'ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td',
] // biome-ignore format: a list of words
const pageTags = ['h5', 'h6', 'center', 'font', 'img', 'caption', 'colgroup', 'col', 'dl', 'dt', 'dd', 'section']

/** Their content is not text for readers. */
const nonTextTags = [
  'script', 'style', 'title', 'textarea', 'option', 'xmp', 'iframe', 'object', 'embed', 'svg', 'math', 'template',
  'audio', 'video', 'canvas', 'noembed', 'noframes',
] // biome-ignore format: a list of words

const cellAttributes = ['colspan', 'rowspan']
const tableAttributes = ['width', 'height', 'align', 'valign', 'bgcolor']

/** Words, numbers, strings and colours. No other function, and no escape that could spell one. */
const harmlessValue = /^(?:[a-z0-9#%.,'"!+/\s-]|(?:rgb|hsl)a?\([0-9.,%/\sdeg]*\)){1,200}$/i

const sides = ['top', 'right', 'bottom', 'left']
const corners = ['top-left', 'top-right', 'bottom-left', 'bottom-right']

/** None of them loads a file, overlays other content or runs code. */
const styleProperties = [
  'color', 'background', 'background-color', 'opacity',
  'font', 'font-family', 'font-size', 'font-style', 'font-weight', 'font-variant', 'line-height', 'letter-spacing',
  'text-align', 'text-decoration', 'text-transform', 'text-indent', 'white-space', 'word-break', 'word-wrap',
  'overflow-wrap', 'direction', 'vertical-align', 'list-style', 'list-style-type',
  'width', 'max-width', 'min-width', 'height', 'max-height', 'min-height', 'display', 'float', 'clear',
  'table-layout', 'border-collapse', 'border-spacing', 'caption-side', 'empty-cells',
  'padding', ...sides.map((side) => `padding-${side}`),
  'margin', ...sides.map((side) => `margin-${side}`),
  'border', 'border-color', 'border-style', 'border-width', ...sides.map((side) => `border-${side}`),
  ...sides.flatMap((side) => ['color', 'style', 'width'].map((part) => `border-${side}-${part}`)),
  'border-radius', ...corners.map((corner) => `border-${corner}-radius`),
] // biome-ignore format: a list of words

const allowedStyles: Record<string, RegExp[]> = Object.fromEntries(
  styleProperties.map((property) => [property, [harmlessValue]]),
)

class TooDeep extends Error {}
export class TooManyTags extends Error {}

/** Parsed as a browser would, so that no disguised `javascript:` gets through. */
function safeLink(address: string): string | undefined {
  const url = URL.parse(address)
  if (url?.protocol === 'mailto:') return url.href
  return url && isWebLink(url.href) ? url.href : undefined
}

const safeAnchor: sanitizeHtml.Transformer = (tagName, { href = '', rel: _rel, target: _target, ...others }) => {
  const link = safeLink(href)
  const isolation = { rel: 'noopener noreferrer nofollow', target: '_blank' }
  return { tagName, attribs: link === undefined ? others : { href: link, ...isolation, ...others } }
}

/** An unencrypted request for a picture would reveal what is being read. */
const safePicture: sanitizeHtml.Transformer = (tagName, { src = '', ...others }) => {
  const link = safeLink(src)
  return { tagName, attribs: link?.startsWith('https:') ? { src: link, ...others } : others }
}

/** Millions of columns would exhaust a mail client's memory. */
const maxSpan = 20
const isSpan = (value: string | undefined): boolean => /^[1-9]\d?$/.test(value ?? '') && Number(value) <= maxSpan

const safeCell: sanitizeHtml.Transformer = (tagName, { colspan, rowspan, ...others }) => ({
  tagName,
  attribs: { ...others, ...(isSpan(colspan) && { colspan }), ...(isSpan(rowspan) && { rowspan }) },
})

const common: sanitizeHtml.IOptions = {
  nonTextTags,
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false,
  nestingLimit: maxDepth,
  transformTags: { a: safeAnchor, img: safePicture, td: safeCell, th: safeCell },
  exclusiveFilter: ({ tag, attribs }) => tag === 'img' && attribs.src === undefined,
}

const boxOptions: sanitizeHtml.IOptions = {
  ...common,
  allowedTags: textTags,
  allowedAttributes: { a: ['href', 'rel', 'target'], td: cellAttributes, th: cellAttributes, ol: ['start'] },
}

const customOptions: sanitizeHtml.IOptions = {
  ...common,
  allowedTags: [...textTags, ...pageTags],
  allowedAttributes: {
    '*': ['style', 'dir', 'lang', 'align', 'title', 'role'],
    a: ['href', 'rel', 'target'],
    img: ['src', 'alt', 'width', 'height', 'border'],
    table: [...tableAttributes, 'border', 'cellpadding', 'cellspacing'],
    tr: tableAttributes,
    td: [...tableAttributes, ...cellAttributes, 'nowrap'],
    th: [...tableAttributes, ...cellAttributes, 'nowrap'],
    col: ['width', 'span'],
    ol: ['start', 'type'],
    font: ['color', 'face', 'size'],
  },
  allowedStyles: { '*': allowedStyles },
}

/** Brackets that begin no tag are text: "<3", "a < b", "Ann <ann@example.com>". */
const escapeLooseBrackets = (html: string): string => html.replace(/<(?!\/?[a-z][a-z0-9:-]*[\s/>]|!|\?)/gi, '&lt;')

function sanitise(html: string, options: sanitizeHtml.IOptions): string {
  if (countTags(html, maxTags) > maxTags) throw new TooManyTags()
  let depth = 0
  const onOpenTag = (): void => {
    depth += 1
    if (depth > maxParsedDepth) throw new TooDeep()
  }
  const onCloseTag = (): void => {
    depth -= 1
  }
  try {
    return sanitizeHtml(escapeLooseBrackets(html), { ...options, onOpenTag, onCloseTag })
  } catch (error) {
    if (error instanceof TooDeep) return textToMarkup(html)
    throw error
  }
}

const anyTag = new RegExp(`</?(?:${textTags.join('|')})[\\s/>]`, 'i')
const characterReference = /&amp;(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});/gi

/** The box of an e-mail: simple markup, or plain text that may have character references. */
export function sanitiseBox(html: string): string {
  if (anyTag.test(html)) return sanitise(html, boxOptions)
  return sanitise(
    textToMarkup(html).replace(characterReference, (_, name) => `&${name};`),
    boxOptions,
  )
}

/** A whole e-mail: tables, pictures and inline styles too. */
export const sanitiseCustom = (html: string): string => sanitise(html, customOptions)
