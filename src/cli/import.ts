import { openStorage } from '../media/open.ts'
import { findGroup } from '../store/control/groups.ts'
import type { DraftImport, DraftReport } from '../transfer/drafts/import-drafts.ts'
import type { ImportReport } from '../transfer/import/import-group.ts'
import { changesAnything, type TallyCounts } from '../transfer/import/tally.ts'
import { type Command, type CommandContext, type CommandInput, printResult, textOption, toTable } from './command.ts'
import { withProgress } from './progress.ts'
import { terminalActor } from './verb-command.ts'

const dryRunOption = { 'dry-run': { type: 'boolean' } } as const
const dryRunHelp = 'only check everything and report what would happen'

function tallyTable(tally: Record<string, TallyCounts>): string {
  return toTable(
    ['', 'NEW', 'CHANGED', 'EQUAL'],
    Object.entries(tally).map(([name, { added, changed, equal }]) => [name, ...[added, changed, equal].map(String)]),
  )
}

function authorOf() {
  const { id, name, address } = terminalActor()
  return { id, name, address }
}

function describeKept({ isNew, onlyHere, keptSettings }: ImportReport): string[] {
  const kept = Object.entries(onlyHere).filter(([, count]) => count > 0)
  if (isNew) return []
  return [
    ...(kept.length > 0
      ? [`Not in the export, and kept: ${kept.map(([name, count]) => `${count} ${name}`).join(', ')}.`]
      : []),
    ...(keptSettings.length > 0 ? [`Kept, although the export has other values: ${keptSettings.join(', ')}.`] : []),
  ]
}

function describeOutcome({ name, groupId, isNew, tally }: ImportReport, isDryRun: boolean): string {
  if (!isNew && !changesAnything(tally))
    return `The group "${name}" (${groupId}) already equals the export. Nothing was changed.`
  const where = isNew ? `as the new group "${name}" (${groupId})` : `into the group "${name}" (${groupId})`
  return isDryRun ? `This would be imported ${where}. Nothing was changed.` : `Imported ${where}.`
}

function describeImport(report: ImportReport, isDryRun: boolean): string {
  return [
    describeOutcome(report, isDryRun),
    tallyTable(report.tally),
    ...describeKept(report),
    ...(report.needsInto ? [`To change this group, add --into ${report.groupId}`] : []),
    ...(report.isNew && !isDryRun ? [`Next: npx sluice key create ${report.groupId}`] : []),
  ].join('\n\n')
}

const importGroupCommand: Command = {
  name: 'import group',
  summary: 'Import a group from the folder of an export',
  args: ['folder'],
  options: {
    ...dryRunOption,
    into: { type: 'string' },
    database: { type: 'string' },
    'bucket-name': { type: 'string' },
    edited: { type: 'boolean' },
  },
  help: `Everything is checked before the first write. A new group becomes visible when it is complete. An existing one is
changed in one transaction, and only if --into names it: try it with --dry-run first. What the export lacks stays. If it is
interrupted, run it again; repeating it changes nothing. No keys are created.

Options:
  --dry-run              ${dryRunHelp}
  --into <group>         the existing group to change, by id or name
  --database <name>      content database of a new group. Default: main
  --bucket-name <name>   media bucket of a new group. Default: media
  --edited               accept a group.ndjson that was edited by hand; it is still validated`,
  async run(context, input) {
    const { importGroup } = await import('../transfer/import/import-group.ts') // loads much that no server needs
    const [folder = ''] = input.args
    const isDryRun = input.options['dry-run'] === true
    const store = await context.store()
    const storage = openStorage(context.config)
    const signedUrlLifetimeMs = context.config.signedUrlTtlSeconds * 1000
    const report = await withProgress(!input.options.json, (onProgress) =>
      importGroup(
        { store, storage, nowMs: context.clock(), author: authorOf(), signedUrlLifetimeMs, onProgress },
        folder,
        {
          into: textOption(input, 'into'),
          database: textOption(input, 'database'),
          bucketName: textOption(input, 'bucket-name'),
          isEdited: input.options.edited === true,
          isDryRun,
        },
      ),
    )
    printResult(context, input, { ...report, isDryRun }, describeImport(report, isDryRun))
  },
}

const draftOptions = {
  ...dryRunOption,
  key: { type: 'string' },
  append: { type: 'boolean' },
  create: { type: 'boolean' },
} as const

const draftHelp = `Everything is checked before the first write, and all of it is written or nothing. Fields in a file are set, empty ones are
removed, missing ones stay. Repeating it changes nothing.

<group> and <collection> are an id or a name.

Options:
  --key <field>          the field that identifies an object. Default: slug
  --append               add everything as new objects, even what exists already
  --create               create the collection, with fields that fit, if there is none
  --dry-run              ${dryRunHelp}`

function describeDrafts({ collection, objects }: DraftReport, isDryRun: boolean): string {
  const { name, isNew, schema } = collection
  return [
    isDryRun ? `This would be imported into "${name}". Nothing was changed.` : `Imported into "${name}".`,
    tallyTable({ objects }),
    ...(isNew
      ? [`The collection ${isDryRun ? 'would be' : 'is'} new. Its schema:\n${JSON.stringify(schema, null, 2)}`]
      : []),
  ].join('\n\n')
}

async function runDraftImport(
  context: CommandContext,
  input: CommandInput,
  from: Pick<DraftImport, 'verb' | 'source' | 'read'>,
): Promise<void> {
  const { importDrafts } = await import('../transfer/drafts/import-drafts.ts')
  const [whichGroup = '', collection = ''] = input.args
  const { options } = input
  const isDryRun = options['dry-run'] === true
  const store = await context.store()
  const group = await findGroup(store, whichGroup)
  const wanted: DraftImport = {
    ...from,
    collection,
    key: textOption(input, 'key'),
    isAppend: options.append === true,
    mayCreate: options.create === true,
    isDryRun,
  }
  const report = await withProgress(!options.json, (onProgress) =>
    importDrafts({ store, nowMs: context.clock(), author: authorOf(), onProgress }, group, wanted),
  )
  printResult(context, input, { ...report, isDryRun }, describeDrafts(report, isDryRun))
}

const importMarkdownCommand: Command = {
  name: 'import markdown',
  summary: 'Import a folder of Markdown files as objects',
  args: ['group', 'collection', 'folder'],
  options: { ...draftOptions, 'keep-folders': { type: 'boolean' }, 'date-key': { type: 'string', multiple: true } },
  help: `Front matter (YAML) becomes fields, the text below it "body" as HTML, the file's name "slug", the first heading "title".
"date", "draft" and "archived" determine when an object is visible.

${draftHelp}
  --keep-folders         the slug of blog/hello.md is blog/hello, not hello
  --date-key <name>      the key of the publish date. Default: publishDate, pubDate or date`,
  async run(context, input) {
    const { readMarkdownFolder } = await import('../transfer/drafts/markdown.ts') // loads libraries that nothing else needs
    const { options } = input
    const folder = input.args[2] ?? ''
    const dateKeys = options['date-key']
    const reading = {
      keepFolders: options['keep-folders'] === true,
      ...(Array.isArray(dateKeys) && { publishDateKeys: dateKeys }),
    }
    const read = () => readMarkdownFolder(folder, reading)
    return runDraftImport(context, input, { verb: 'import.markdown', source: folder, read })
  },
}

const importCsvCommand: Command = {
  name: 'import csv',
  summary: 'Import the rows of a CSV file as objects',
  args: ['group', 'collection', 'file'],
  options: { ...draftOptions, delimiter: { type: 'string' } },
  help: `The first row names the fields; items of a list are separated by |. The columns "publishDate", "draft" and "archived"
determine when an object is visible.

${draftHelp}
  --delimiter <sign>     what separates the cells. Default: detected in the first row`,
  async run(context, input) {
    const { readCsv } = await import('../transfer/drafts/csv.ts')
    const file = input.args[2] ?? ''
    const delimiter = textOption(input, 'delimiter')
    const read = () => readCsv(file, delimiter === undefined ? {} : { delimiter })
    return runDraftImport(context, input, { verb: 'import.csv', source: file, read })
  },
}

export const importCommands: readonly Command[] = [importGroupCommand, importMarkdownCommand, importCsvCommand]
