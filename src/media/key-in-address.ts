import { isMediaKey } from '../content/media-keys.ts'

/** What follows the base and a slash in an address, when it can be a key. */
export function keyAfter(base: string, address: URL): string | undefined {
  const plain = address.origin + address.pathname
  if (!plain.startsWith(`${base}/`)) return undefined
  try {
    const key = decodeURIComponent(plain.slice(base.length + 1))
    return isMediaKey(key) ? key : undefined
  } catch {
    return undefined // a percent sign that encodes nothing
  }
}
