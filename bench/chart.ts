export interface Point {
  x: number
  y: number
}

export interface Axis {
  label: string
  /** Logarithmic; otherwise linear from 0. */
  isLog: boolean
  write(value: number): string
}

export interface Line {
  name: string
  points: readonly Point[]
}

/** One of the plots of a chart, side by side with shared axes. */
export interface Panel {
  title: string
  lines: readonly Line[]
}

export interface Chart {
  title: string
  x: Axis
  y: Axis
  panels: readonly Panel[]
}

/** Readable on white and on black. */
const gray = '#7b8794'
const colors = ['#0f9488', '#d9730d', '#7c6ff0', '#d6457f', '#2f86d6', '#8a9a1b', '#a86a3d', '#c43c3c']
const [plotWidth, plotHeight] = [360, 240]
const [left, top, below] = [64, 64, 52]
const gap = 56
const legendLine = 20
const quarterTurn = 90
const mostTicks = 6

interface Scale {
  ticks: number[]
  /** The position on the axis, from 0 to 1. */
  at(value: number): number
}

function logScale(values: readonly number[]): Scale {
  const first = Math.floor(Math.log10(Math.min(...values)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))))
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, step) => Number(`1e${first + step}`)),
    at: (value) => (Math.log10(value) - first) / (last - first),
  }
}

function linearScale(values: readonly number[]): Scale {
  const greatest = Math.max(...values)
  const power = 10 ** Math.floor(Math.log10(greatest / mostTicks))
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => greatest / size <= mostTicks) ?? power
  const count = Math.ceil(greatest / step)
  return {
    ticks: Array.from({ length: count + 1 }, (_, number) => Number((number * step).toPrecision(6))),
    at: (value) => value / (count * step),
  }
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const round = (value: number): string => value.toFixed(1)

/** A line chart as SVG, readable on a light and on a dark background. */
export function drawChart({ title, x, y, panels }: Chart): string {
  const points = panels.flatMap(({ lines }) => lines.flatMap((line) => line.points))
  const scaleOf = (axis: Axis, values: number[]): Scale => (axis.isLog ? logScale(values) : linearScale(values))
  const across = scaleOf(x, points.map((point) => point.x)) // biome-ignore format: two alike
  const up = scaleOf(y, points.map((point) => point.y)) // biome-ignore format: two alike
  const width = left + panels.length * (plotWidth + gap)
  const legendRows = Math.ceil(Math.max(...panels.map(({ lines }) => lines.length)) / 2)
  const height = top + plotHeight + below + legendRows * legendLine
  const bottom = top + plotHeight
  const toY = (value: number): number => bottom - up.at(value) * plotHeight

  function drawPanel(panel: Panel, position: number): string {
    const start = left + position * (plotWidth + gap)
    const toX = (value: number): number => start + across.at(value) * plotWidth
    const rows = up.ticks.map((tick) => `M${start} ${round(toY(tick))}h${plotWidth}`)
    const names = across.ticks.map(
      (tick) => `<text x="${round(toX(tick))}" y="${bottom + 18}">${escapeText(x.write(tick))}</text>`,
    )
    const lines = panel.lines.map(({ points: own, name }, number) => {
      const color = colors[number % colors.length]
      const corners = own.map((point) => `${round(toX(point.x))},${round(toY(point.y))}`)
      const dots =
        own.length > 20 ? [] : corners.map((corner) => `<circle cx="${corner.replace(',', '" cy="')}" r="3.5"/>`)
      const [column, row] = [number % 2, Math.floor(number / 2)]
      const [keyX, keyY] = [start + column * (plotWidth / 2), bottom + below + row * legendLine]
      return `  <g fill="${color}" stroke="none">
    <polyline points="${corners.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>
    ${dots.join('')}
    <rect x="${keyX}" y="${keyY - 6}" width="18" height="4" rx="2"/>
    <text x="${keyX + 26}" y="${keyY}" fill="${gray}">${escapeText(name)}</text>
  </g>`
    })
    return `  <path d="${rows.join('')}" stroke="${gray}" stroke-opacity="0.3"/>
  <g fill="${gray}" text-anchor="middle">
    <text x="${start + plotWidth / 2}" y="${top - 14}" font-weight="600">${escapeText(panel.title)}</text>
    ${names.join('')}
    <text x="${start + plotWidth / 2}" y="${bottom + 34}">${escapeText(x.label)}</text>
  </g>
${lines.join('\n')}`
  }

  const levels = up.ticks.map(
    (tick) => `<text x="${left - 8}" y="${round(toY(tick) + 4)}">${escapeText(y.write(tick))}</text>`,
  )
  const middle = top + plotHeight / 2
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title" font-family="system-ui, sans-serif" font-size="13">
  <title id="title">${escapeText(title)}</title>
  <text x="${left}" y="22" fill="${gray}" font-size="16" font-weight="600">${escapeText(title)}</text>
  <g fill="${gray}" text-anchor="end">${levels.join('')}</g>
  <text x="16" y="${middle}" fill="${gray}" text-anchor="middle" transform="rotate(-${quarterTurn} 16 ${middle})">${escapeText(y.label)}</text>
${panels.map(drawPanel).join('\n')}
</svg>
`
}
