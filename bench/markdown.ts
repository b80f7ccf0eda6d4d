export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

export const inKilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} KB`
export const inMegabytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MB`
export const inCount = (value: number): string => Math.round(value).toLocaleString('en')
export const inRatio = (value: number): string => value.toFixed(2)
export const inMs = (ms: number): string => `${ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : inCount(ms)} ms`
