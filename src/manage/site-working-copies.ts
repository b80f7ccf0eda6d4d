import type { Static } from 'typebox'
import { mediaUsesAnywhere } from '../content/media-uses.ts'
import { mergeParts } from '../content/merge.ts'
import type { StoredSite } from '../content/model.ts'
import { checkSite } from '../content/site-settings.ts'
import { compareThreeWay, isSameValue } from '../content/working-copy.ts'
import { AppError } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { publishSiteCopy, scheduleSiteCopy, threeSettingsOf } from '../store/content/publish-site-copies.ts'
import {
  deleteWorkingCopy,
  findWorkingCopy,
  saveWorkingCopy,
  type WorkingCopy,
} from '../store/content/working-copies.ts'
import { findMediaProblems } from '../store/media/uses.ts'
import type { GroupStore } from '../store/store.ts'
import { done, doneShape, openObject, ownId } from './shapes.ts'
import { checkBindings, requireSite, settings, showSite, siteId, siteShape } from './sites.ts'
import { defineGroupVerb, settingsBodyBytes } from './verb.ts'
import {
  dueMsOf,
  ifRevision,
  noSuchCopy,
  publishAt,
  refuseOtherRevision,
  refuseScheduled,
  staleInput,
  threeWayShape,
  unscheduleCopy,
} from './working-copies.ts'
import { copyStateProperties, showCopyState } from './working-copy-states.ts'

export const siteCopyShape = Type.Object({
  _id: ownId,
  settings: openObject('The settings of the working copy.'),
  version: Type.Integer({ description: 'The live version; if it is not the base version, the site was changed.' }),
  problems: Type.Array(Type.String(), { description: 'What must be corrected before it can be published.' }),
  ...copyStateProperties,
})

async function requireSiteCopy(group: GroupStore, wantedId: string) {
  const site = await requireSite(group, wantedId)
  const copy = await findWorkingCopy(group, site.id)
  if (!copy) throw noSuchCopy()
  return { site, copy }
}

/** Collections and files that do not exist (yet). */
async function problemsIn(group: GroupStore, site: StoredSite, wanted: StoredSite['settings']): Promise<string[]> {
  const missing = await findMediaProblems(group, mediaUsesAnywhere(site.settings), mediaUsesAnywhere(wanted))
  const unbound = await checkBindings(group, wanted).then(
    () => [],
    (error: unknown) => {
      if (error instanceof AppError) return [error.message]
      throw error
    },
  )
  return [...missing, ...unbound]
}

const showSiteCopy = async (
  group: GroupStore,
  site: StoredSite,
  copy: WorkingCopy,
): Promise<Static<typeof siteCopyShape>> => ({
  _id: site.id,
  settings: copy.value,
  version: site.version,
  problems: await problemsIn(group, site, copy.value),
  ...showCopyState(copy),
})

export const siteWorkingCopyVerbs = [
  defineGroupVerb({
    name: 'site draft save',
    summary: 'Save a working copy of the settings of a site, without publishing it',
    description:
      'Each given key replaces its value in the working copy, and null removes it. Name, domain and private settings have no working copy.',
    maxBodyBytes: settingsBodyBytes,
    input: { siteId, ifRevision, settings },
    answer: siteCopyShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { group } = writer
        const site = await requireSite(group, input.siteId)
        const before = await findWorkingCopy(group, site.id)
        refuseOtherRevision(before, input.ifRevision)
        refuseScheduled(before)
        const value = mergeParts(before?.value ?? site.settings, input.settings)
        checkSite(group.groupId, { ...site, settings: value })
        const isSaved = before !== undefined && isSameValue(before.value, value)
        const subject = { id: site.id, containerId: null, value: site.settings, version: site.version }
        const copy = isSaved ? before : await saveWorkingCopy(writer, subject, before, value, mediaUsesAnywhere(value))
        return showSiteCopy(group, site, copy)
      }),
  }),
  defineGroupVerb({
    name: 'site draft show',
    summary: 'Show the working copy of the settings of a site',
    input: { siteId },
    answer: siteCopyShape,
    async run({ ctx, input }) {
      const { site, copy } = await requireSiteCopy(ctx.content, input.siteId)
      return showSiteCopy(ctx.content, site, copy)
    },
  }),
  defineGroupVerb({
    name: 'site draft diff',
    summary: 'Compare the working copy of the settings of a site with its base and the live settings',
    input: { siteId },
    answer: threeWayShape('settings'),
    async run({ ctx, input }) {
      const { site, copy } = await requireSiteCopy(ctx.content, input.siteId)
      const values = threeSettingsOf(site, copy)
      return { version: site.version, baseVersion: copy.baseVersion, ...values, fields: compareThreeWay(values) }
    },
  }),
  defineGroupVerb({
    name: 'site draft discard',
    summary: 'Discard the working copy of the settings of a site',
    description: 'The live settings stay as they are. A scheduled change is cancelled.',
    input: { siteId, ifRevision },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { site, copy } = await requireSiteCopy(writer.group, input.siteId)
        refuseOtherRevision(copy, input.ifRevision)
        await deleteWorkingCopy(writer, copy)
        writer.record({ type: 'draft.discarded', subjectId: site.id })
        return done
      }),
  }),
  defineGroupVerb({
    name: 'site draft publish',
    summary: 'Replace the settings of a site by their working copy',
    description:
      'At once and as a whole. If the site was changed since the working copy was begun, this is 409 with all three settings in details.',
    input: { siteId, ifRevision, ...staleInput },
    answer: siteShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { site, copy } = await requireSiteCopy(writer.group, input.siteId)
        refuseOtherRevision(copy, input.ifRevision)
        await checkBindings(writer.group, copy.value)
        return showSite(await publishSiteCopy(writer, site, copy, input))
      }),
  }),
  defineGroupVerb({
    name: 'site draft schedule',
    args: ['publishAt'],
    summary: 'Schedule when the working copy of the settings of a site is published',
    description: 'It must be valid now, and cannot be changed while it is scheduled.',
    input: { siteId, publishAt, ifRevision, ...staleInput },
    answer: siteCopyShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { publishAt: at, ifRevision: revision, ...stale } = input
        const { site, copy } = await requireSiteCopy(writer.group, input.siteId)
        refuseOtherRevision(copy, revision)
        const dueMs = dueMsOf(at, ctx.nowMs)
        if (dueMs !== null) await checkBindings(writer.group, copy.value)
        const after =
          dueMs === null
            ? await unscheduleCopy(writer, copy)
            : await scheduleSiteCopy(writer, site, copy, { ...stale, dueMs })
        return showSiteCopy(writer.group, site, after)
      }),
  }),
]
