import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { createContext, Script } from 'node:vm'
import { Marked, type Token } from 'marked'
import { isDate } from '../../content/moments.ts'
import { slugify } from '../../content/texts.ts'
import { AppError, invalid } from '../../core/errors.ts'
import type { Draft } from './draft.ts'
import { parsePage } from './front-matter.ts'
import { extractPublishing } from './publishing.ts'
import { readMoment } from './read-text.ts'

/** Splits off a date prefix, as blogs use it: `2024-05-01-hello`. */
function splitDate(name: string): { name: string; date?: string } {
  const [, date = '', rest = ''] = /^(\d{4}-\d{2}-\d{2})-(.+)$/s.exec(name) ?? []
  return isDate(date) && slugify(rest) !== '' ? { name: rest, date } : { name }
}

/**
 * The slug and date in a file's path. An `index` file stands for its folder. A name without any character for a slug stays
 * as it is, for validation to report.
 */
export function readPath(path: string, rootName: string, keepFolders: boolean): { slug: string; date?: string } {
  const folders = path.replace(/\.[^./]+$/, '').split('/')
  const fileName = folders.pop() ?? ''
  const pageName = fileName.toLowerCase() === 'index' ? (folders.pop() ?? rootName) : fileName
  const { name, ...date } = splitDate(pageName)
  const parts = keepFolders ? [...folders, name] : [name]
  const slugs = parts.map(slugify)
  return { slug: (slugs.includes('') ? parts : slugs).join('/'), ...date }
}

export interface Body {
  html: string
  /** The text of the first `# heading`, which is then not in `html`. */
  title?: string
  htmlWithTitle?: string
}

const markdown = new Marked({ gfm: true, async: false })

function textOf(token: Token): string {
  if (token.type === 'html') return ''
  if (token.type === 'br') return ' '
  if ('tokens' in token && token.tokens) return token.tokens.map(textOf).join('')
  return 'text' in token ? String(token.text) : ''
}

function renderBody(text: string, takeTitle: boolean): Body {
  const tokens = markdown.lexer(text)
  const html = markdown.parser(tokens).trim()
  const heading = takeTitle ? tokens.find((token) => token.type === 'heading' && token.depth === 1) : undefined
  const title = heading ? textOf(heading).trim() : ''
  if (title === '') return { html }
  const others = tokens.filter((token) => token !== heading)
  return { html: markdown.parser(others).trim(), title, htmlWithTitle: html }
}

/** Renders a body; undefined if it is blank. HTML in it is kept unchanged. */
export function readBody(text: string, takeTitle: boolean): Body | undefined {
  if (text.trim() === '') return undefined
  try {
    return renderBody(text, takeTitle)
  } catch (error) {
    // Such as quotes nested some thousands deep.
    throw invalid(`the body cannot be read as Markdown: ${error instanceof Error ? error.message : error}`)
  }
}

export interface MarkdownOptions {
  /** Whether the slug of `blog/2024/hello.md` is `blog/2024/hello` instead of `hello`. */
  keepFolders?: boolean
  /** The first one present is used. */
  publishDateKeys?: readonly string[]
  /** The time limit for parsing one page. */
  maxPageMs?: number
}

const maxBytes = 2 * 1024 * 1024
const defaultPageMs = 10_000
/** Shorter pages are parsed without a time limit, since they are quick and the limit itself costs time. */
const shortPageLength = 10_000
const defaultDateKeys = ['publishDate', 'pubDate', 'date']

/** Paths below a folder, in order. Symbolic links are not followed. */
async function* listMarkdownFiles(folder: string, path = ''): AsyncGenerator<string> {
  const entries = await readdir(join(folder, path), { withFileTypes: true }).catch((error: Error) => {
    throw invalid(`The folder ${join(folder, path)} cannot be read: ${error.message}.`)
  })
  const names = entries
    .filter((entry) => !entry.name.startsWith('.') && entry.name !== 'node_modules')
    .filter((entry) => entry.isDirectory() || (entry.isFile() && /\.(md|markdown)$/i.test(entry.name)))
    // The slash makes a folder sort where its files do.
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
  for (const name of names) {
    if (name.endsWith('/')) yield* listMarkdownFiles(folder, path + name)
    else yield path + name
  }
}

async function readBytes(file: string): Promise<Buffer> {
  const unreadable = (error: Error): never => {
    throw invalid(`the file cannot be read: ${error.message}`)
  }
  const { size } = await stat(file).catch(unreadable)
  if (size > maxBytes) throw invalid(`the file is larger than ${maxBytes / 1024 / 1024} MB`)
  return readFile(file).catch(unreadable)
}

/** Removes a byte order mark and normalises line ends to \n. */
function decodeText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r\n?/g, '\n')
  } catch {
    throw invalid('the file is not UTF-8 text')
  }
}

/** Whether the author wrote a field, ignoring case. */
const isWritten = (fields: Record<string, unknown>, name: string): boolean =>
  Object.keys(fields).some((key) => key.toLowerCase() === name && fields[key] !== null)

function describePage(source: string, text: string, rootName: string, options: MarkdownOptions): Draft {
  const page = parsePage(text)
  const { rest, publishing, problems } = extractPublishing(page.fields, options.publishDateKeys ?? defaultDateKeys)
  const body = readBody(page.body, !isWritten(rest, 'title'))
  if (body && isWritten(rest, 'body')) problems.push('the front matter has a "body", and there is text below it too')

  const path = readPath(source, rootName, options.keepFolders ?? false)
  const dateOfPath = path.date === undefined ? undefined : readMoment(path.date)
  const derived = Object.entries({ slug: path.slug, title: body?.title, body: body?.html }).filter(
    ([name, value]) => value !== undefined && !isWritten(rest, name),
  )
  return {
    source,
    value: { ...rest, ...Object.fromEntries(derived) },
    ...(dateOfPath !== undefined && { publishDate: dateOfPath }),
    ...publishing,
    problems,
    derived: derived.map(([name]) => name),
    ...(body?.htmlWithTitle !== undefined && { bodyWithTitle: body.htmlWithTitle }),
  }
}

const timed = createContext({ describe: undefined as (() => Draft) | undefined })
const describeScript = new Script('describe()')

/** Some pages, such as one of only asterisks, would take the parser hours: it is stopped after a time limit. */
function describeInTime(describe: () => Draft, { maxPageMs = defaultPageMs }: MarkdownOptions): Draft {
  timed.describe = describe
  try {
    return describeScript.runInContext(timed, { timeout: maxPageMs })
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw invalid(`parsing the page took more than ${maxPageMs} ms; is it Markdown?`)
  }
}

async function readPage(folder: string, source: string, rootName: string, options: MarkdownOptions): Promise<Draft> {
  try {
    const text = decodeText(await readBytes(join(folder, source)))
    const describe = () => describePage(source, text, rootName, options)
    return text.length < shortPageLength ? describe() : describeInTime(describe, options)
  } catch (error) {
    if (error instanceof AppError) return { source, value: {}, problems: [error.message] }
    throw error
  }
}

/** Streams the pages below a folder, ordered by path. An unreadable file becomes a draft with a problem. */
export async function* readMarkdownFolder(folder: string, options: MarkdownOptions = {}): AsyncGenerator<Draft> {
  const rootName = basename(resolve(folder))
  for await (const source of listMarkdownFiles(folder)) yield await readPage(folder, source, rootName, options)
}
