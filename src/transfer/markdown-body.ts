import { Marked, type Token } from 'marked'
import { invalid } from '../errors.ts'

export interface Body {
  html: string
  /** The text of the first `# heading`, which `html` is then without. */
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

/** The HTML of a body, or undefined when there is none. HTML that the author wrote passes as it is. */
export function readBody(text: string, takeTitle: boolean): Body | undefined {
  if (text.trim() === '') return undefined
  try {
    return renderBody(text, takeTitle)
  } catch (error) {
    // Such as a quote in a quote in a quote, some thousands deep.
    throw invalid(`the body cannot be read as Markdown: ${error instanceof Error ? error.message : error}`)
  }
}
