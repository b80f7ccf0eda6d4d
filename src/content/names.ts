import { isStorableText } from './validate.ts'

const maxNameCharacters = 200

/** What people call something: it can be read, on one line, and is not empty. */
export function isName(text: string): boolean {
  return text.trim() !== '' && text.length <= maxNameCharacters && isStorableText(text) && !/\p{Cc}/u.test(text)
}
