const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** For text between tags or in a quoted attribute. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => entities[sign] ?? sign)

/** Plain text as markup, with its line breaks. */
export const textToMarkup = (text: string): string => escapeHtml(text).replace(/\r\n|\r|\n/g, '<br>')
