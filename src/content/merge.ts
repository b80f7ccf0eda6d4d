/** Each part that is given takes the place of what was there; null takes it away. What is left out stays. */
export function mergeParts<Parts extends Record<string, unknown>>(
  before: Parts,
  changes: Record<string, unknown>,
): Parts {
  const merged = { ...before, ...changes }
  return Object.fromEntries(Object.entries(merged).filter(([name]) => changes[name] !== null)) as Parts
}
