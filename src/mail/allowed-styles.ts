/** How a caller's own e-mail may look: nothing here loads a file, lies over something else or runs. */

/** Words, numbers, texts in quotes and colours. No other function is let through, and no escape that could spell one. */
const harmlessValue = /^(?:[a-z0-9#%.,'"!+/\s-]|(?:rgb|hsl)a?\([0-9.,%/\sdeg]*\)){1,200}$/i

const sides = ['top', 'right', 'bottom', 'left']
const corners = ['top-left', 'top-right', 'bottom-left', 'bottom-right']

const properties = [
  'color', 'background', 'background-color', 'opacity',
  'font', 'font-family', 'font-size', 'font-style', 'font-weight', 'font-variant', 'line-height', 'letter-spacing',
  'text-align', 'text-decoration', 'text-transform', 'text-indent', 'white-space', 'word-break', 'word-wrap',
  'overflow-wrap', 'direction', 'vertical-align', 'list-style', 'list-style-type',
  'width', 'max-width', 'min-width', 'height', 'max-height', 'min-height', 'display', 'float', 'clear',
  'table-layout', 'border-collapse', 'border-spacing', 'caption-side', 'empty-cells',
  'padding', ...sides.map((side) => `padding-${side}`),
  'margin', ...sides.map((side) => `margin-${side}`),
  'border', 'border-color', 'border-style', 'border-width', ...sides.map((side) => `border-${side}`),
  ...sides.flatMap((side) => ['color', 'style', 'width'].map((part) => `border-${side}-${part}`)),
  'border-radius', ...corners.map((corner) => `border-${corner}-radius`),
] // biome-ignore format: a list of words

export const allowedStyles: Record<string, RegExp[]> = Object.fromEntries(
  properties.map((property) => [property, [harmlessValue]]),
)
