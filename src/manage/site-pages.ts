import { withoutPage, withPage } from '../content/site-settings.ts'
import { notFound } from '../errors.ts'
import type { ContentWriter } from '../store/changes.ts'
import { updateSite } from '../store/sites.ts'
import { Type } from '../type.ts'
import { showSite, siteShape } from './content-shapes.ts'
import { checkBindings, siteId, takeSite } from './sites.ts'
import { refuseStale } from './stale.ts'
import { defineGroupVerb, settingsBodyBytes } from './verb.ts'

const place = {
  siteId,
  slug: Type.String({
    maxLength: 300,
    description: 'The page, by its slug; "home" is the home page. In a path a slash within a slug is written %2F.',
  }),
  version: Type.Integer({ description: 'The version of the site that you started from.' }),
}

/** Puts other pages in the place of a site's. All else about it stays. */
async function changePages(
  writer: ContentWriter,
  { siteId: wantedId, version, ...yours }: { siteId: string; version: number; slug: string },
  change: (pages: unknown) => unknown[],
) {
  const before = await takeSite(writer.group, wantedId)
  refuseStale('site', before.version, version, () => ({ current: showSite(before), yours }))
  const settings = { ...before.settings, pages: change(before.settings.pages) }
  return showSite(await updateSite(writer, before, { settings }))
}

export const sitePageVerbs = [
  defineGroupVerb({
    name: 'site set-page',
    summary: 'Put one page in the place of a site’s page of that slug, or behind all others',
    description:
      'The page is given whole; all other pages stay as they are. It keeps its slug unless it names another one.',
    needs: 'editor',
    route: 'PUT /manage/groups/:groupId/sites/:siteId/pages/:slug',
    maxBodyBytes: settingsBodyBytes,
    input: {
      ...place,
      page: Type.Record(Type.String(), Type.Unknown(), {
        description: 'As one of settings.pages: name, format, collections, integrations, labels and so on.',
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
    summary: 'Take one page out of a site',
    needs: 'editor',
    route: 'DELETE /manage/groups/:groupId/sites/:siteId/pages/:slug',
    input: place,
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
