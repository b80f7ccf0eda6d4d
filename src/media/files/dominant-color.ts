/** The color that most pixels come near to, as "#rrggbb"; the pixels have three bytes each. */
export function dominantColor(rgb: Uint8Array): string {
  const groups = new Map<number, { count: number; sum: [number, number, number] }>()
  for (let at = 0; at + 2 < rgb.length; at += 3) {
    const [red = 0, green = 0, blue = 0] = rgb.subarray(at, at + 3)
    const near = ((red >> 5) << 6) | ((green >> 5) << 3) | (blue >> 5)
    const group = groups.get(near) ?? { count: 0, sum: [0, 0, 0] }
    group.count += 1
    group.sum[0] += red
    group.sum[1] += green
    group.sum[2] += blue
    groups.set(near, group)
  }
  const { count, sum } = [...groups.values()].reduce((most, group) => (group.count > most.count ? group : most))
  return `#${sum
    .map((total) =>
      Math.round(total / count)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`
}
