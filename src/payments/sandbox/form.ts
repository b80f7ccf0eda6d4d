import { refuse } from './refusal.ts'

/** The fields of a form in which `a[b][0]=x` stands for nested values. */
export type Form = { [name: string]: FormValue }
export type FormValue = string | Form

const namePattern = /^([^[\]]+)((?:\[[^[\]]*\])*)$/
const mostParts = 10

/** `a[b][]` is a, b and an empty part. */
function partsOf(name: string): string[] {
  const [, first, rest = ''] = namePattern.exec(name) ?? []
  if (first === undefined) return [name]
  const parts = [first, ...Array.from(rest.matchAll(/\[([^[\]]*)\]/g), ([, part = '']) => part)]
  if (parts.length > mostParts) throw refuse(first, 'The parameter is nested too deeply.')
  return parts
}

// Without a prototype: a field may be called anything.
const emptyForm = (): Form => Object.create(null)

export function parseForm(text: string): Form {
  const form = emptyForm()
  for (const [name, value] of new URLSearchParams(text)) {
    const parts = partsOf(name)
    let place = form
    parts.forEach((part, depth) => {
      const key = part === '' ? String(Object.keys(place).length) : part
      if (depth === parts.length - 1) {
        place[key] = value
        return
      }
      place[key] ??= emptyForm()
      const inner = place[key]
      if (typeof inner === 'string') throw refuse(name, 'Invalid hash')
      place = inner
    })
  }
  return form
}
