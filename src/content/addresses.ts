const maxHostLength = 253
/** Labels of letters, digits and inner hyphens, joined by single dots. Letters of any script: such names exist. */
const hostPattern = (() => {
  const edge = '[\\p{L}\\p{M}\\p{Nd}]'
  const label = `${edge}(?:[\\p{L}\\p{M}\\p{Nd}-]{0,61}${edge})?`
  return new RegExp(`^${label}(?:\\.${label})*$`, 'u')
})()
const originPattern = /^https?:\/\/[a-z0-9._:[\]-]{1,259}$/
/** No white space or backslashes, which parsers correct in different ways. */
const webLinkPattern = /^https?:\/\/[^\s\\]+$/i

export const isHostName = (text: string): boolean => text.length <= maxHostLength && hostPattern.test(text)

/** A host name in lower case, with or without a port. */
export function isDomainName(text: string): boolean {
  const host = text.replace(/:[1-9]\d{0,4}$/, '')
  // The parser also checks the highest port and international names.
  return isHostName(host) && text === text.toLowerCase() && URL.canParse(`https://${text}`)
}

/** An origin exactly as browsers send it: any other spelling would never match. */
export const isOrigin = (text: string): boolean => originPattern.test(text) && URL.parse(text)?.origin === text

/** An absolute http or https URL without credentials, which it would publish. */
export function isWebLink(text: string): boolean {
  const url = webLinkPattern.test(text) ? URL.parse(text) : null
  return url !== null && url.username === '' && url.password === ''
}
