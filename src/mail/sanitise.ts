import sanitizeHtml from 'sanitize-html'
import { isWebLink } from '../content/addresses.ts'
import { textToMarkup } from '../content/escape-html.ts'
import { allowedStyles } from './allowed-styles.ts'
import { countTags, maxTags } from './tags.ts'

/** Markup that strangers send is made harmless here once, when it comes in; what is kept is only what this let through. */

/** No mail nests deeper; the words of what does are kept. */
const maxDepth = 60
/** From here on it is no mail at all but an attack on the parser, whose work grows with the depth. */
const maxParsedDepth = 1000

const textTags = [
  'p', 'br', 'hr', 'b', 'strong', 'i', 'em', 'u', 's', 'small', 'sub', 'sup', 'span', 'div', 'code', 'pre',
  'blockquote', 'h1', 'h2', 'h3', 'h4', 'ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td',
] // biome-ignore format: a list of words
const pageTags = ['h5', 'h6', 'center', 'font', 'img', 'caption', 'colgroup', 'col', 'dl', 'dt', 'dd', 'section']

/** What stands in them is not meant to be read. */
const wordlessTags = [
  'script', 'style', 'title', 'textarea', 'option', 'xmp', 'iframe', 'object', 'embed', 'svg', 'math', 'template',
  'audio', 'video', 'canvas', 'noembed', 'noframes',
] // biome-ignore format: a list of words

const cellAttributes = ['colspan', 'rowspan']
const tableAttributes = ['width', 'height', 'align', 'valign', 'bgcolor']

class TooDeep extends Error {}
/** There is more markup than anybody reads: at most `maxTags`. */
export class TooManyTags extends Error {}

/** As a browser would read it, so that no disguise of `javascript:` gets past. */
function safeLink(address: string): string | undefined {
  const url = URL.parse(address)
  if (url?.protocol === 'mailto:') return url.href
  return url && isWebLink(url.href) ? url.href : undefined
}

const safeAnchor: sanitizeHtml.Transformer = (tagName, { href = '', rel: _rel, target: _target, ...others }) => {
  const link = safeLink(href)
  const apart = { rel: 'noopener noreferrer nofollow', target: '_blank' }
  return { tagName, attribs: link === undefined ? others : { href: link, ...apart, ...others } }
}

/** A picture that is fetched in the clear tells everyone on the way what is being read. */
const safePicture: sanitizeHtml.Transformer = (tagName, { src = '', ...others }) => {
  const link = safeLink(src)
  return { tagName, attribs: link?.startsWith('https:') ? { src: link, ...others } : others }
}

/** Nobody has more columns; to lay out millions of them would take a mail client's whole memory. */
const maxSpan = 20
const isSpan = (value: string | undefined): boolean => /^[1-9]\d?$/.test(value ?? '') && Number(value) <= maxSpan

const safeCell: sanitizeHtml.Transformer = (tagName, { colspan, rowspan, ...others }) => ({
  tagName,
  attribs: { ...others, ...(isSpan(colspan) && { colspan }), ...(isSpan(rowspan) && { rowspan }) },
})

const common: sanitizeHtml.IOptions = {
  nonTextTags: wordlessTags,
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

/** What begins no tag is meant as it is written: "<3", "a < b", "Ann <ann@example.com>". */
const keepLooseBrackets = (html: string): string => html.replace(/<(?!\/?[a-z][a-z0-9:-]*[\s/>]|!|\?)/gi, '&lt;')

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
    return sanitizeHtml(keepLooseBrackets(html), { ...options, onOpenTag, onCloseTag })
  } catch (error) {
    if (error instanceof TooDeep) return textToMarkup(html)
    throw error
  }
}

const anyTag = new RegExp(`</?(?:${textTags.join('|')})[\\s/>]`, 'i')
const characterReference = /&amp;(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});/gi

/** The main block of an e-mail: simple markup, or plain text in which at most characters are written as `&amp;`. */
export function sanitiseBox(html: string): string {
  if (anyTag.test(html)) return sanitise(html, boxOptions)
  return sanitise(
    textToMarkup(html).replace(characterReference, (_, name) => `&${name};`),
    boxOptions,
  )
}

/** A whole e-mail: tables, pictures and inline styles too. */
export const sanitiseCustom = (html: string): string => sanitise(html, customOptions)
