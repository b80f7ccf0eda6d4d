/** The icon of our pages, a sluice gate. As a data URL, so that browsers do not request `/favicon.ico`. */
const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f766e"/><path d="M8 6v11M16 6v11M24 6v11M6 9h20" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/><path d="M5 23q3.7-4 7.3 0t7.4 0 7.3 0" fill="none" stroke="#99f6e4" stroke-width="2.6" stroke-linecap="round"/></svg>`

/** Needs `img-src data:` in the page's policy. */
export const pageIcon = `<link rel="icon" type="image/svg+xml" href="data:image/svg+xml,${encodeURIComponent(drawing)}">`
