/** JSON merge patch (RFC 7396), one level deep: a given part replaces the old one, null removes it, the rest stays. */
export function mergeParts<Parts extends Record<string, unknown>>(
  before: Parts,
  changes: Record<string, unknown>,
): Parts {
  const merged = { ...before, ...changes }
  return Object.fromEntries(Object.entries(merged).filter(([name]) => changes[name] !== null)) as Parts
}
