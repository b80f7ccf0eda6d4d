/** Far more than an e-mail has. Each takes about 10 µs to sanitize, and another 10 µs to convert to plain text. */
export const maxTags = 5000

/** Counts start and end tags, up to the first one beyond `max`. */
export function countTags(html: string, max: number): number {
  let count = 0
  for (let index = html.indexOf('<'); index >= 0 && count <= max; index = html.indexOf('<', index + 1))
    if (/[a-z/!?]/i.test(html[index + 1] ?? '')) count += 1
  return count
}
