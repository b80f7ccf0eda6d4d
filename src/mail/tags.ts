/** Far more than an e-mail has. Each costs some ten microseconds to make safe, and as much again to print as text. */
export const maxTags = 5000

/** How many tags begin or end in markup; it is not counted further than where it is too many. */
export function countTags(html: string, most: number): number {
  let count = 0
  for (let at = html.indexOf('<'); at >= 0 && count <= most; at = html.indexOf('<', at + 1))
    if (/[a-z/!?]/i.test(html[at + 1] ?? '')) count += 1
  return count
}
