import { escapeHtml } from '../content/escape-html.ts'
import { pageIcon } from './page-icon.ts'

/** The parts of an OpenAPI document that the page shows. */
interface Schema {
  type?: string | string[]
  format?: string
  description?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  default?: unknown
  enum?: string[]
  properties?: Record<string, Schema>
  items?: Schema
}

interface Parameter {
  name: string
  in?: string
  required?: boolean
  description?: string
  schema: Schema
  example?: unknown
}

interface BodySchema {
  properties: Record<string, Schema>
  required?: string[]
}

interface Answer {
  description?: string
  content?: Record<string, { schema: Schema; example?: unknown }>
}

interface Operation {
  summary?: string
  description?: string
  /** Operations grouped by tag. */
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: BodySchema }> }
  responses: Record<string, Answer>
}

export interface OpenApiDocument {
  info: { title: string; version: string; description?: string }
  paths: Record<string, Record<string, Operation>>
}

/** Escaped text in which `code` is marked. */
const prose = (text = ''): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
const paragraphs = (text = ''): string =>
  text
    .split('\n\n')
    .map((part) => `<p>${prose(part)}</p>`)
    .join('')

const typeOf = ({ type, format }: Schema): string | undefined =>
  format === 'binary' ? 'file' : Array.isArray(type) ? type.join(' or ') : type

function limits(schema: Schema): string {
  const { minimum, maximum, maxLength, default: fallback, enum: values } = schema
  const parts = [
    values?.join(', '),
    typeOf(schema),
    minimum !== undefined && maximum !== undefined ? `${minimum}–${maximum}` : undefined,
    maxLength === undefined ? undefined : `up to ${maxLength} characters`,
    fallback === undefined ? undefined : `default ${fallback}`,
  ]
  return escapeHtml(parts.filter((part) => part !== undefined).join(', '))
}

function parameterRow({ name, in: location, required, description, schema }: Parameter): string {
  const shown = schema.type === 'object' && location !== 'body' ? `${name}[…]` : name
  const mark = required ? ' <b class="required">required</b>' : ''
  return `<tr><td><code>${escapeHtml(shown)}</code>${mark}</td><td>${limits(schema)}</td><td>${prose(description ?? schema.description)}</td></tr>`
}

function exampleOf(answer: Answer | undefined): string {
  const [media] = Object.values(answer?.content ?? {})
  if (media?.example === undefined) return ''
  return `<details><summary>Example answer</summary><pre>${escapeHtml(JSON.stringify(media.example, null, 2))}</pre></details>`
}

const answerRow = ([status, answer]: [string, Answer]): string =>
  `<tr><td><span class="status s${status[0]}">${escapeHtml(status)}</span></td><td>${prose(answer.description)}</td></tr>`

/** The names of the members of `data`, if there is no example. */
function dataNames(schema: Schema | undefined): string {
  const data = schema?.properties?.data
  const item = data?.properties?.items?.items
  const names = Object.keys(item?.properties ?? data?.properties ?? {})
  if (names.length === 0) return ''
  const container = item ? '<code>data.items</code>, each with' : '<code>data</code> with'
  return `<p>${container} ${names.map((name) => `<code>${escapeHtml(name)}</code>`).join(', ')}</p>`
}

function answersOf(responses: Operation['responses']): string {
  const good = responses['200'] ?? responses['201']
  const [media] = Object.values(good?.content ?? {})
  const example = exampleOf(good)
  return `<table><tbody>${Object.entries(responses).map(answerRow).join('')}</tbody></table>
    ${example || dataNames(media?.schema)}`
}

function parameterTable(parameters: Parameter[]): string {
  if (parameters.length === 0) return ''
  return `<h3>Parameters</h3>
    <table class="parameters"><thead><tr><th>Name</th><th>Value</th><th>Meaning</th></tr></thead>
    <tbody>${parameters.map(parameterRow).join('')}</tbody></table>`
}

/** A path can have several methods. */
const anchorOf = (path: string, method: string): string => (method === 'get' ? path : `${method} ${path}`)

/** The body of a request as parameters, for the same table. */
function bodyParameters({ requestBody }: Operation): Parameter[] {
  const [body] = Object.values(requestBody?.content ?? {})
  const { properties = {}, required = [] } = body?.schema ?? {}
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'body',
    required: required.includes(name),
    schema,
    ...(schema.description !== undefined && { description: schema.description }),
  }))
}

/** The curl options for the required members of a body. */
function bodyOptions(operation: Operation): string[] {
  const body = bodyParameters(operation).filter(({ required }) => required)
  if (body.length === 0) return []
  if (operation.requestBody?.content['multipart/form-data']) return body.map(({ name }) => `-F ${name}=@…`)
  return [`-H 'Content-Type: application/json'`, `-d '{${body.map(({ name }) => `"${name}": …`).join(', ')}}'`]
}

/** A request to copy, with all required parameters. */
function exampleRequest(path: string, method: string, operation: Operation, authorization: string): string {
  const { parameters = [] } = operation
  const query = parameters
    .filter((parameter) => parameter.required && parameter.in !== 'path')
    .map(({ name, example }) => `${name}=${example ?? '…'}`)
  const url = [path.replace(/\{(\w+)\}/g, '$$$1'), ...(query.length > 0 ? [query.join('&')] : [])].join('?')
  const parts = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} -H "Authorization: ${authorization}"`,
    ...bodyOptions(operation),
    `"$BASE_URL${url}"`,
  ]
  return `<pre>${escapeHtml(parts.join(' \\\n  '))}</pre>`
}

function operationSection(path: string, method: string, operation: Operation, authorization: string): string {
  const { summary = path, description, responses } = operation
  const parameters = [...(operation.parameters ?? []), ...bodyParameters(operation)]
  return `<section id="${escapeHtml(anchorOf(path, method))}">
    <h2>${escapeHtml(summary)}</h2>
    <p class="route"><b>${escapeHtml(method.toUpperCase())}</b> <code>${escapeHtml(path)}</code></p>
    ${paragraphs(description)}
    ${exampleRequest(path, method, operation, authorization)}
    ${parameterTable(parameters)}
    <h3>Answers</h3>
    ${answersOf(responses)}
  </section>`
}

const style = `
:root { color-scheme: light dark; --ink: #1c1917; --soft: #57534e; --line: #e7e5e4; --paper: #fffdfa; --tint: #f5f1eb; --accent: #0f766e; --bad: #b45309 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f5f5f4; --soft: #a8a29e; --line: #3a3633; --paper: #1a1816; --tint: #262320; --accent: #2dd4bf; --bad: #fbbf24 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif }
.page { display: grid; grid-template-columns: 15rem minmax(0, 46rem); gap: 3rem; max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.5rem 6rem }
nav { position: sticky; top: 2.5rem; align-self: start; font-size: .93rem; max-height: calc(100vh - 5rem); overflow-y: auto }
nav b { display: block; margin-top: 1rem; font-size: .75rem; letter-spacing: .08em; text-transform: uppercase; color: var(--soft) }
nav a { display: block; padding: .3rem 0; color: var(--soft); text-decoration: none }
nav a:hover, nav a:focus-visible { color: var(--accent) }
nav .raw { margin-top: 1rem; border-top: 1px solid var(--line); padding-top: 1rem }
h1 { margin: 0 0 .5rem; font-size: 2rem; letter-spacing: -.02em }
h2 { margin: 0 0 .25rem; font-size: 1.35rem }
h3 { margin: 1.75rem 0 .5rem; font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; color: var(--soft) }
section { border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 2.5rem; scroll-margin-top: 1rem }
.route { margin: 0 0 1rem; color: var(--accent) }
table { width: 100%; border-collapse: collapse; font-size: .93rem }
th { text-align: left; font-weight: 600; color: var(--soft) }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
code, pre { font: .88em/1.55 ui-monospace, monospace }
code { background: var(--tint); border-radius: 4px; padding: .1em .35em; overflow-wrap: anywhere }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--tint); border-radius: 8px; padding: 1rem; margin: .75rem 0 0 }
.required { font-size: .75rem; color: var(--bad) }
.status { font-weight: 600 } .s2 { color: var(--accent) } .s4, .s5 { color: var(--bad) }
summary { cursor: pointer; margin-top: 1.25rem; color: var(--accent) }
@media (max-width: 50rem) { .page { grid-template-columns: minmax(0, 1fr); gap: 1.5rem } nav { position: static; max-height: 40vh } }
@media (max-width: 40rem) {
  .page { padding: 1.5rem 1rem 4rem } .parameters thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .parameters tr { display: block; padding: .6rem 0; border-bottom: 1px solid var(--line) } .parameters td { display: block; padding: .1rem 0; border: 0 }
}
`

/** The reference as one self-contained page without scripts, which loads fast and can be printed. */
export function renderDocsPage(
  { info, paths }: OpenApiDocument,
  { documentUrl, authorization }: { documentUrl: string; authorization: string },
): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const links = operations.map(({ path, method, operation }, position) => {
    const [tag] = operation.tags ?? []
    const isFirst = tag !== undefined && tag !== operations[position - 1]?.operation.tags?.[0]
    const link = `<a href="#${escapeHtml(encodeURI(anchorOf(path, method)))}">${escapeHtml(operation.summary ?? path)}</a>`
    return isFirst ? `<b>${escapeHtml(tag)}</b>${link}` : link
  })
  const sections = operations.map(({ path, method, operation }) =>
    operationSection(path, method, operation, authorization),
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(info.title)}</title>${pageIcon}<style>${style}</style></head>
<body><div class="page">
<nav aria-label="Endpoints">${links.join('')}<div class="raw"><a href="${documentUrl}">openapi.json</a></div></nav>
<main><h1>${escapeHtml(info.title)}</h1><p>Version ${escapeHtml(info.version)}</p>${paragraphs(info.description)}${sections.join('')}</main>
</div></body></html>`
}
