import type { Static } from 'typebox'
import { countries } from '../content/countries.ts'
import { isEmailAddress, maxAddressLength } from '../content/email.ts'
import { mergeParts } from '../content/merge.ts'
import { noticeRhythms, type StoredSite } from '../content/model.ts'
import { collectionIdsIn, settingsRules } from '../content/site-settings.ts'
import { invalid, notFound } from '../errors.ts'
import type { ContentWriter } from '../store/changes.ts'
import { listContainers } from '../store/containers.ts'
import type { GroupStore } from '../store/groups.ts'
import { deleteSite, findSite, insertSite, listSites, updateSite } from '../store/sites.ts'
import { Type } from '../type.ts'
import { showSite, siteShape } from './content-shapes.ts'
import { done, doneShape, id, listOf, wholeList } from './shapes.ts'
import { refuseStale } from './stale.ts'
import { defineGroupVerb, settingsBodyBytes } from './verb.ts'

export const siteId = id('The site.')
const settings = Type.Record(Type.String(), Type.Unknown(), {
  description: `Delivered as they are. ${settingsRules}`,
})
const addresses = (description: string) => Type.Array(Type.String({ maxLength: 300 }), { maxItems: 50, description })
const site = {
  name: Type.String({ minLength: 1, maxLength: 200 }),
  domainName: Type.String({ maxLength: 253, description: 'The host name of the website.' }),
  settings,
  allowedOrigins: addresses('Where a checkout may return to, such as https://shop.example. Empty: everywhere.'),
  allowedRecipients: addresses(
    'Who may get contact e-mails. Empty: the addresses that the group’s sites name, and those in their domains.',
  ),
  shippingCountries: Type.Array(Type.String({ maxLength: 2 }), {
    maxItems: countries.length,
    uniqueItems: true,
    description: 'Where a checkout may send goods to, by ISO codes such as CA. Empty: to the usual countries.',
  }),
  noticesTo: Type.String({
    maxLength: maxAddressLength,
    description: 'The e-mail address that is told of what visitors send in. Empty: nobody is.',
  }),
  noticesRhythm: Type.Enum([...noticeRhythms], {
    description: 'Told of each submission (several in a few minutes are one e-mail), or once a day. Default: each.',
  }),
}
const parts = Type.Partial(Type.Object(site)).properties

type PrivateSettings = StoredSite['privateSettings']
type GivenNotices = Partial<Pick<Static<typeof siteShape>, 'noticesTo' | 'noticesRhythm'>>
type GivenSettings = GivenNotices &
  Partial<Pick<Static<typeof siteShape>, 'allowedOrigins' | 'allowedRecipients' | 'shippingCountries'>>

/** What is left out stays; without an address there are none. */
function noticesOf(before: PrivateSettings, { noticesTo, noticesRhythm }: GivenNotices): PrivateSettings {
  const { to = '', rhythm = 'each' } = before.submissionNotices ?? {}
  const wanted = { to: noticesTo ?? to, rhythm: noticesRhythm ?? rhythm }
  if (noticesTo && !isEmailAddress(noticesTo))
    throw invalid('noticesTo must be one e-mail address such as hello@example.com.')
  if (wanted.to !== '') return { submissionNotices: wanted }
  if (noticesTo === undefined && noticesRhythm !== undefined)
    throw invalid('noticesRhythm says how often, and nobody is told: give noticesTo, too.')
  return {}
}

/** An empty list is no list. */
function privateSettingsOf(before: PrivateSettings, given: GivenSettings): PrivateSettings {
  const { allowedOrigins, allowedRecipients, shippingCountries } = { ...before, ...given }
  return {
    ...(allowedOrigins?.length && { allowedOrigins }),
    ...(allowedRecipients?.length && { allowedRecipients }),
    ...(shippingCountries?.length && { shippingCountries }),
    ...noticesOf(before, given),
  }
}

/** Pages show collections of this group only. */
export async function checkBindings(group: GroupStore, wanted: StoredSite['settings']): Promise<void> {
  const bound = collectionIdsIn(wanted)
  if (bound.length === 0) return
  const known = new Set((await listContainers(group, 'collection')).map(({ id: containerId }) => containerId))
  const unknown = bound.find((collectionId) => !known.has(collectionId))
  if (unknown !== undefined)
    throw invalid(`settings.pages name the collection "${unknown}", which the group does not have.`)
}

export async function takeSite(group: GroupStore, wantedId: string): Promise<StoredSite> {
  const found = await findSite(group, wantedId)
  if (!found) throw notFound('There is no such site in this group.')
  return found
}

async function writeSite(
  writer: ContentWriter,
  input: { siteId: string; version: number } & Partial<Static<typeof siteShape>>,
): Promise<StoredSite> {
  const { siteId: wantedId, version, name, domainName, ...rest } = input
  const before = await takeSite(writer.group, wantedId)
  refuseStale('site', before.version, version, () => ({
    current: showSite(before),
    yours: { name, domainName, ...rest },
  }))
  const { settings: changes = {} } = rest
  await checkBindings(writer.group, changes)
  return updateSite(writer, before, {
    ...(name !== undefined && { name }),
    ...(domainName !== undefined && { domainName }),
    settings: mergeParts(before.settings, changes),
    privateSettings: privateSettingsOf(before.privateSettings, rest),
  })
}

export const siteVerbs = [
  defineGroupVerb({
    name: 'site create',
    args: ['name'],
    isCreation: true,
    summary: 'Make a site',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/sites',
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
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/sites',
    input: {},
    answer: listOf(siteShape),
    columns: ['_id', 'name', 'domainName', 'version', 'updatedAt'],
    run: async ({ ctx }) => wholeList((await listSites(ctx.content)).map(showSite)),
  }),
  defineGroupVerb({
    name: 'site show',
    summary: 'Show a site with all its settings',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/sites/:siteId',
    input: { siteId },
    answer: siteShape,
    run: async ({ ctx, input }) => showSite(await takeSite(ctx.content, input.siteId)),
  }),
  defineGroupVerb({
    name: 'site update',
    summary: 'Change parts of a site',
    description:
      'What is left out stays. Of `settings`, each key that is given takes the place of what was there, and null takes it away.',
    needs: 'editor',
    route: 'PATCH /manage/groups/:groupId/sites/:siteId',
    maxBodyBytes: settingsBodyBytes,
    input: { siteId, version: Type.Integer({ description: 'The version you started from.' }), ...parts },
    answer: siteShape,
    run: ({ ctx, input }) => ctx.write(async (writer) => showSite(await writeSite(writer, input))),
  }),
  defineGroupVerb({
    name: 'site delete',
    summary: 'Delete a site',
    description: 'Its settings are gone for good; collections and their content stay.',
    needs: 'owner',
    route: 'DELETE /manage/groups/:groupId/sites/:siteId',
    input: { siteId },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        await deleteSite(writer, await takeSite(writer.group, input.siteId))
        return done
      }),
  }),
]
