import type { Books } from './books.ts'
import { refuse } from './refusal.ts'

const deepest = 4

/** Puts objects in the place of their ids, along paths such as `data.default_price`. */
export async function expandAll(books: Books, answer: object, paths: readonly string[] = []): Promise<object> {
  let expanded: unknown = answer
  for (const [index, path] of paths.entries()) {
    const names = path.split('.')
    const cannot = (name: string) => refuse(`expand[${index}]`, `This property cannot be expanded (${name}).`)
    // A list has one level more: its `data`.
    if (names.length > deepest + 1) throw cannot(path)
    expanded = await expand(books, expanded, names, cannot)
  }
  return expanded as object // an object is expanded to an object
}

async function expand(
  books: Books,
  value: unknown,
  [name, ...rest]: string[],
  cannot: (name: string) => Error,
): Promise<unknown> {
  if (name === undefined || value === null) return value
  if (Array.isArray(value)) return Promise.all(value.map((item) => expand(books, item, [name, ...rest], cannot)))
  if (typeof value !== 'object' || !Object.hasOwn(value, name)) throw cannot(name)
  const inner: unknown = Reflect.get(value, name)
  const found = typeof inner === 'string' ? await books.findAny(inner) : inner
  if (found === undefined || (found !== null && typeof found !== 'object')) throw cannot(name)
  return { ...value, [name]: await expand(books, found, rest, cannot) }
}
