/** The bakery's colours; every picture takes its paints from here, so that they belong together. */
// biome-ignore format: a paint box
export const palette = {
  cream: '#fdf4e4', flour: '#fffaf0', butter: '#f8dfa6', honey: '#efb95d', gold: '#e09f3e', crust: '#c67a34',
  brown: '#9a5426', bark: '#6b3719', ink: '#3d2014', cocoa: '#4a2a1c', sand: '#efd6ae', oat: '#e9dcc3',
  peach: '#fbd8b4', apricot: '#f4b183', terracotta: '#c9583a', brick: '#a63f2a', berry: '#9b2f4b', rose: '#e39a93',
  blush: '#f6d5c8', sage: '#9db08a', leaf: '#6f8a5b', forest: '#47633f', teal: '#3f6b6a', mist: '#dfe7dc',
  plum: '#5d3a5e', night: '#252a47', dusk: '#4d4468',
} as const
