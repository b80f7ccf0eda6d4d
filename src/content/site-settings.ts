import { isDomainName, isOrigin, isWebLink } from './addresses.ts'
import { countries, isCountry } from './countries.ts'
import { isEmailAddress } from './email.ts'
import { noticeRhythms, type PrivateSiteSettings } from './model.ts'
import { limitProblem, limitsInWords, problemsAnywhere } from './open-settings.ts'
import { pageRules, pages } from './pages.ts'
import { isRecord } from './schema.ts'
import { type Check, flag, listOf, mapOf, memberPath, objectOf, text, textThatMust } from './shapes.ts'
import { isStorableText } from './texts.ts'
import { colorPattern, mediaProblem, refuse } from './validate.ts'

export type { PrivateSiteSettings } from './model.ts'
export { collectionIdsIn, withoutPage, withPage } from './pages.ts'

/** A site as an editor writes it: parsed JSON. */
export interface SiteDraft {
  name: string
  domainName: string
  settings: Record<string, unknown>
  privateSettings: PrivateSiteSettings
}

const maxNameLength = 200
const maxPrivateEntries = 50
const colorNamePattern = /^[A-Za-z0-9_-]{1,64}$/
/** Names that the service itself sets in a delivered site, which would override a setting. */
export const ownKeys = ['_id', 'name', 'domainName', 'tier', 'siteDetails']

const siteName = textThatMust(
  `be a text of 1 to ${maxNameLength} characters that can be stored, and not blank`,
  (name) => name.trim() !== '' && name.length <= maxNameLength && isStorableText(name),
)
const domainName = textThatMust(
  'be a host name in lower case such as www.example.com, or empty',
  (domain) => domain === '' || isDomainName(domain),
)
const color = textThatMust('be a colour such as #7c3aed', (value) => colorPattern.test(value))
const emailAddress = textThatMust('be one e-mail address such as hello@example.com', isEmailAddress)
const origin = textThatMust('be an origin such as https://www.example.com, with nothing after it', isOrigin)
const country = textThatMust('be the code of a country that can be shipped to, such as CA', isCountry)
const rhythm = textThatMust(`be one of ${noticeRhythms.join(', ')}`, (word) =>
  (noticeRhythms as readonly string[]).includes(word),
)
const webLink = textThatMust('be an http or https address without a user name or password', isWebLink)

const imageOrNull: Check = (path, value) => {
  const problem = value === null ? undefined : mediaProblem('image', value)
  return problem === undefined ? [] : [`${path} ${problem}`]
}

/** Colours are delivered beside the settings, and again in `siteDetails.values`, beside `mediaFields`. */
function isColorName(name: string): boolean {
  const isTaken = ownKeys.includes(name) || Object.hasOwn(knownSettings, name) || name === 'mediaFields'
  return colorNamePattern.test(name) && !isTaken
}

const colors: Check = (path, value) => {
  const badNames = isRecord(value) ? Object.keys(value).filter((name) => !isColorName(name)) : []
  return [
    ...badNames.map((name) => `${memberPath(path, name)} needs a name of letters, digits, - and _ that is not taken`),
    ...mapOf(color)(path, value),
  ]
}

const businessInfo = objectOf({
  name: text,
  description: text,
  address: objectOf({ street1: text, street2: text, city: text, state: text, zip: text, country: text }),
  contactInfo: objectOf({ email: emailAddress, phoneNumber: text }),
  shipping: flag,
})

const linkParts = objectOf({ type: text, platform: text, link: webLink, url: webLink })

/** Templates use either pair of names; both are delivered. */
const socialLink: Check = (path, value) => {
  const problems = linkParts(path, value)
  if (problems.length > 0 || !isRecord(value)) return problems
  const { type, platform, link, url } = value
  return [
    ...((type ?? platform) === undefined ? [`${path}.type (or platform) is required`] : []),
    ...((link ?? url) === undefined ? [`${path}.link (or url) is required`] : []),
  ]
}
const socialLinks = listOf(socialLink)

/** The settings that websites rely on. All others are open. */
const knownSettings = { colors, logo: imageOrNull, heroImage: imageOrNull, businessInfo, socialLinks, pages }

/** The same as text, for editors. */
const rulesInWords: Readonly<Record<keyof typeof knownSettings, string>> = {
  colors: 'name → colour such as #7c3aed or rgb(124, 58, 237)',
  logo: 'a media value of type image, or null',
  heroImage: 'the same',
  businessInfo:
    'name, description; address with street1, street2, city, state, zip, country; contactInfo with email, phoneNumber; shipping: true or false; all others are texts, and the e-mail address is checked',
  socialLinks: 'a list of {type, link} or {platform, url}, with http or https addresses',
  pages: pageRules,
}

export const settingsRules = `Checked keys: ${Object.entries(rulesInWords)
  .map(([key, rule]) => `${key} (${rule})`)
  .join(
    '; ',
  )}. Any other key may have any JSON value, except the reserved keys ${ownKeys.join(', ')}. Media values at any depth must be files of the group, and are delivered signed. ${limitsInWords}`

const privateSettings: Readonly<Record<keyof PrivateSiteSettings, Check>> = {
  allowedOrigins: listOf(origin, maxPrivateEntries),
  allowedRecipients: listOf(emailAddress, maxPrivateEntries),
  shippingCountries: listOf(country, countries.length),
  submissionNotices: objectOf({ to: emailAddress, rhythm }, ['to', 'rhythm']),
}

function settingsProblems(groupId: string, settings: unknown): string[] {
  if (!isRecord(settings)) return ['settings must be an object']
  const problem = limitProblem(settings)
  if (problem !== undefined) return [problem]
  const taken = ownKeys.filter((key) => Object.hasOwn(settings, key))
  return [
    ...taken.map((key) => `settings.${key} cannot be set: the service itself delivers a ${key}`),
    ...objectOf(knownSettings)('settings', settings),
    ...problemsAnywhere(groupId, 'settings', settings),
  ]
}

function privateSettingsProblems(settings: unknown): string[] {
  if (!isRecord(settings)) return ['privateSettings must be an object']
  const unknown = Object.keys(settings).filter((key) => !Object.hasOwn(privateSettings, key))
  return [
    ...unknown.map((key) => `${memberPath('privateSettings', key)} is not a private setting`),
    ...objectOf(privateSettings)('privateSettings', settings),
  ]
}

/** What keeps a group from having this site, as messages. */
export function problemsOfSite(groupId: string, site: SiteDraft): string[] {
  return [
    ...siteName('name', site.name),
    ...domainName('domainName', site.domainName),
    ...settingsProblems(groupId, site.settings),
    ...privateSettingsProblems(site.privateSettings),
  ]
}

/** Throws one error that names every problem. */
export function checkSite(groupId: string, site: SiteDraft): void {
  refuse(problemsOfSite(groupId, site))
}
