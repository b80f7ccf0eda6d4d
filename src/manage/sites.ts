import type { Static } from 'typebox'
import { countries } from '../content/countries.ts'
import { isEmailAddress, maxAddressLength } from '../content/email.ts'
import { mergeParts } from '../content/merge.ts'
import { noticeRhythms, type StoredSite } from '../content/model.ts'
import { toIso } from '../content/moments.ts'
import { collectionIdsIn, settingsRules, withoutPage, withPage } from '../content/site-settings.ts'
import { invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { listContainers } from '../store/content/containers.ts'
import { refuseSiteContradiction } from '../store/content/publish-site-copies.ts'
import { deleteSite, findSite, insertSite, listSites, updateSite } from '../store/content/sites.ts'
import type { GroupStore } from '../store/store.ts'
import { completeList, done, doneShape, id, listOf, moment, openObject, ownId, refuseStale } from './shapes.ts'
import { defineGroupVerb, settingsBodyBytes } from './verb.ts'

export const siteShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  domainName: Type.String(),
  settings: openObject(
    'Colours, logo, hero image, business information, pages, social links and anything of your own.',
  ),
  allowedOrigins: Type.Array(Type.String()),
  allowedRecipients: Type.Array(Type.String()),
  shippingCountries: Type.Array(Type.String()),
  noticesTo: Type.String({ description: 'Empty for no notices.' }),
  noticesRhythm: Type.Enum([...noticeRhythms]),
  version: Type.Integer(),
  createdAt: moment,
  updatedAt: moment,
})

export const showSite = (site: StoredSite): Static<typeof siteShape> => ({
  _id: site.id,
  name: site.name,
  domainName: site.domainName,
  settings: site.settings,
  allowedOrigins: site.privateSettings.allowedOrigins ?? [],
  allowedRecipients: site.privateSettings.allowedRecipients ?? [],
  shippingCountries: site.privateSettings.shippingCountries ?? [],
  noticesTo: site.privateSettings.submissionNotices?.to ?? '',
  noticesRhythm: site.privateSettings.submissionNotices?.rhythm ?? 'each',
  version: site.version,
  createdAt: toIso(site.createdMs),
  updatedAt: toIso(site.updatedMs),
})

export const siteId = id('The site.')
export const settings = Type.Record(Type.String(), Type.Unknown(), {
  description: `Delivered unchanged. ${settingsRules}`,
})
const addresses = (description: string) => Type.Array(Type.String({ maxLength: 300 }), { maxItems: 50, description })
const site = {
  name: Type.String({ minLength: 1, maxLength: 200 }),
  domainName: Type.String({ maxLength: 253, description: 'The host name of the website.' }),
  settings,
  allowedOrigins: addresses('Origins that a checkout may return to, such as https://shop.example. Empty: any.'),
  allowedRecipients: addresses(
    'Addresses that may receive contact e-mails. Empty: those that the group’s sites name, and those in their domains.',
  ),
  shippingCountries: Type.Array(Type.String({ maxLength: 2 }), {
    maxItems: countries.length,
    uniqueItems: true,
    description: 'Countries that a checkout may ship to, as ISO codes such as CA. Empty: the usual countries.',
  }),
  noticesTo: Type.String({
    maxLength: maxAddressLength,
    description: 'The e-mail address that is notified of submissions. Empty: nobody is.',
  }),
  noticesRhythm: Type.Enum([...noticeRhythms], {
    description:
      'Whether to notify of each submission (several within minutes are one e-mail) or once a day. Default: each.',
  }),
}
const parts = Type.Partial(Type.Object(site)).properties

type PrivateSettings = StoredSite['privateSettings']
type GivenNotices = Partial<Pick<Static<typeof siteShape>, 'noticesTo' | 'noticesRhythm'>>
type GivenSettings = GivenNotices &
  Partial<Pick<Static<typeof siteShape>, 'allowedOrigins' | 'allowedRecipients' | 'shippingCountries'>>

/** Values that are left out stay; without an address there are no notices. */
function noticesOf(before: PrivateSettings, { noticesTo, noticesRhythm }: GivenNotices): PrivateSettings {
  const { to = '', rhythm = 'each' } = before.submissionNotices ?? {}
  const wanted = { to: noticesTo ?? to, rhythm: noticesRhythm ?? rhythm }
  if (noticesTo && !isEmailAddress(noticesTo))
    throw invalid('noticesTo must be one e-mail address such as hello@example.com.')
  if (wanted.to !== '') return { submissionNotices: wanted }
  if (noticesTo === undefined && noticesRhythm !== undefined)
    throw invalid('noticesRhythm has no effect without an address: give noticesTo, too.')
  return {}
}

/** An empty list is stored as none. */
function privateSettingsOf(before: PrivateSettings, given: GivenSettings): PrivateSettings {
  const { allowedOrigins, allowedRecipients, shippingCountries } = { ...before, ...given }
  return {
    ...(allowedOrigins?.length && { allowedOrigins }),
    ...(allowedRecipients?.length && { allowedRecipients }),
    ...(shippingCountries?.length && { shippingCountries }),
    ...noticesOf(before, given),
  }
}

/** Pages may show only collections of this group. */
export async function checkBindings(group: GroupStore, wanted: StoredSite['settings']): Promise<void> {
  const bound = collectionIdsIn(wanted)
  if (bound.length === 0) return
  const known = new Set((await listContainers(group, 'collection')).map(({ id: containerId }) => containerId))
  const unknown = bound.find((collectionId) => !known.has(collectionId))
  if (unknown !== undefined)
    throw invalid(`settings.pages name the collection "${unknown}", which the group does not have.`)
}

export async function requireSite(group: GroupStore, wantedId: string): Promise<StoredSite> {
  const found = await findSite(group, wantedId)
  if (!found) throw notFound('There is no such site in this group.')
  return found
}

async function writeSite(
  writer: ContentWriter,
  input: { siteId: string; version: number } & Partial<Static<typeof siteShape>>,
): Promise<StoredSite> {
  const { siteId: wantedId, version, name, domainName, ...rest } = input
  const before = await requireSite(writer.group, wantedId)
  refuseStale('site', before.version, version, () => ({
    current: showSite(before),
    yours: { name, domainName, ...rest },
  }))
  const { settings: changes = {} } = rest
  await checkBindings(writer.group, changes)
  const merged = mergeParts(before.settings, changes)
  await refuseSiteContradiction(writer, before, merged)
  return updateSite(writer, before, {
    ...(name !== undefined && { name }),
    ...(domainName !== undefined && { domainName }),
    settings: merged,
    privateSettings: privateSettingsOf(before.privateSettings, rest),
  })
}

const pageInput = {
  siteId,
  slug: Type.String({
    maxLength: 300,
    description: 'The slug of the page; "home" is the home page. In a path, write a slash within a slug as %2F.',
  }),
  version: Type.Integer({ description: 'The version of the site that you started from.' }),
}

/** Replaces the pages of a site and nothing else. */
async function changePages(
  writer: ContentWriter,
  { siteId: wantedId, version, ...yours }: { siteId: string; version: number; slug: string },
  change: (pages: unknown) => unknown[],
) {
  const before = await requireSite(writer.group, wantedId)
  refuseStale('site', before.version, version, () => ({ current: showSite(before), yours }))
  const settings = { ...before.settings, pages: change(before.settings.pages) }
  await refuseSiteContradiction(writer, before, settings)
  return showSite(await updateSite(writer, before, { settings }))
}

export const siteVerbs = [
  defineGroupVerb({
    name: 'site create',
    args: ['name'],
    isCreation: true,
    summary: 'Create a site',
    maxBodyBytes: settingsBodyBytes,
    input: { ...parts, name: site.name },
    answer: siteShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { name, domainName = '', settings: wanted = {}, ...rest } = input
        await checkBindings(writer.group, wanted)
        return showSite(
          await insertSite(writer, {
            name,
            domainName,
            settings: wanted as StoredSite['settings'],
            privateSettings: privateSettingsOf({}, rest),
          }),
        )
      }),
  }),
  defineGroupVerb({
    name: 'site list',
    summary: 'Show the sites of a group',
    input: {},
    answer: listOf(siteShape),
    columns: ['_id', 'name', 'domainName', 'version', 'updatedAt'],
    run: async ({ ctx }) => completeList((await listSites(ctx.content)).map(showSite)),
  }),
  defineGroupVerb({
    name: 'site show',
    summary: 'Show a site with all its settings',
    input: { siteId },
    answer: siteShape,
    run: async ({ ctx, input }) => showSite(await requireSite(ctx.content, input.siteId)),
  }),
  defineGroupVerb({
    name: 'site update',
    summary: 'Change parts of a site',
    description:
      'Values that are left out stay. In `settings`, each given key replaces its old value, and null removes it.',
    maxBodyBytes: settingsBodyBytes,
    input: { siteId, version: Type.Integer({ description: 'The version you started from.' }), ...parts },
    answer: siteShape,
    run: ({ ctx, input }) => ctx.write(async (writer) => showSite(await writeSite(writer, input))),
  }),
  defineGroupVerb({
    name: 'site delete',
    summary: 'Delete a site',
    description: 'Permanently, with its settings; collections and their content stay.',
    input: { siteId },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        await deleteSite(writer, await requireSite(writer.group, input.siteId))
        return done
      }),
  }),
  defineGroupVerb({
    name: 'site set-page',
    summary: 'Add or replace one page of a site, by its slug',
    description:
      'Send the whole page; a new one is appended, and the others stay unchanged. It keeps its slug unless it has another one.',
    maxBodyBytes: settingsBodyBytes,
    input: {
      ...pageInput,
      page: Type.Record(Type.String(), Type.Unknown(), {
        description: 'Like an entry of settings.pages: name, format, collections, integrations, labels and so on.',
      }),
    },
    answer: siteShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        await checkBindings(writer.group, { pages: [input.page] })
        return changePages(writer, input, (pages) => withPage(pages, input.slug, input.page))
      }),
  }),
  defineGroupVerb({
    name: 'site remove-page',
    summary: 'Remove one page from a site',
    input: pageInput,
    answer: siteShape,
    run: ({ ctx, input }) =>
      ctx.write((writer) =>
        changePages(writer, input, (pages) => {
          const others = withoutPage(pages, input.slug)
          if (!others) throw notFound(`The site has no page "${input.slug.slice(0, 64)}".`)
          return others
        }),
      ),
  }),
]
