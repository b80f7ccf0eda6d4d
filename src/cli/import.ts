import { openStorage } from '../media/open.ts'
import { findGroup } from '../store/control/groups.ts'
import type { DraftImport, DraftReport } from '../transfer/drafts/import-drafts.ts'
import type { ImportReport } from '../transfer/import/import-group.ts'
import { changesAnything, type TallyCounts } from '../transfer/import/tally.ts'
import { type Command, type CommandContext, type CommandInput, printResult, textOption, toTable } from './command.ts'
import { withProgress } from './progress.ts'
import { terminalActor } from './verb-command.ts'

const dryRunOption = { 'dry-run': { type: 'boolean' } } as const
const dryRunHelp = 'only check everything and say what would happen'

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
      ? [`Only here, and left as they are: ${kept.map(([name, count]) => `${count} ${name}`).join(', ')}.`]
      : []),
    ...(keptSettings.length > 0
      ? [`Left as they are here, though the export has others: ${keptSettings.join(', ')}.`]
      : []),
  ]
}

function describeOutcome({ name, groupId, isNew, tally }: ImportReport, isDryRun: boolean): string {
  if (!isNew && !changesAnything(tally))
    return `The group "${name}" (${groupId}) is what the export says already. Nothing was changed.`
  const where = isNew ? `as the new group "${name}" (${groupId})` : `into the group "${name}" (${groupId})`
  return isDryRun ? `This would be imported ${where}. Nothing was changed.` : `Imported ${where}.`
}

function describeImport(report: ImportReport, isDryRun: boolean): string {
  return [
    describeOutcome(report, isDryRun),
    tallyTable(report.tally),
    ...describeKept(report),
    ...(report.needsInto ? [`To change this group, say so: --into ${report.groupId}`] : []),
    ...(report.isNew && !isDryRun ? [`Next: npx sluice key create ${report.groupId}`] : []),
  ].join('\n\n')
}

const importGroupCommand: Command = {
  name: 'import group',
  summary: 'Bring in a group from the folder of an export',
  args: ['folder'],
  options: {
    ...dryRunOption,
    into: { type: 'string' },
    database: { type: 'string' },
    'bucket-name': { type: 'string' },
    edited: { type: 'boolean' },
  },
  help: `Everything is checked before the first write. A group that does not exist becomes visible when it is complete; one
that exists is changed in one transaction, and only when --into names it: look with --dry-run before. When it is interrupted, run it again. A second time, nothing changes. What
exists here and not in the export stays. No keys are made.

Options:
  --dry-run              ${dryRunHelp}
  --into <group>         the group that exists and is to be changed, by id or name
  --database <name>      content database of a new group. Default: main
  --bucket-name <name>   media bucket of a new group. Default: media
  --edited               accept a group.ndjson that was changed by hand; it is checked all the same`,
  async run(context, input) {
    const { importGroup } = await import('../transfer/import/import-group.ts') // with much that no server needs
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

const draftHelp = `Everything is checked before the first write, and all is written or nothing. What a file names is set, what it leaves
empty is taken away, what it does not name stays. A second time, nothing changes.

<group> and <collection> are an id or a name.

Options:
  --key <field>          the field by which objects are told apart. Default: slug
  --append               add everything as new objects, also what is there already
  --create               make the collection, with fields that fit, where there is none
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
  summary: 'Make objects of a folder of Markdown files',
  args: ['group', 'collection', 'folder'],
  options: { ...draftOptions, 'keep-folders': { type: 'boolean' }, 'date-key': { type: 'string', multiple: true } },
  help: `Front matter (YAML) becomes fields, the text below it "body" as HTML, the file's name "slug", the first heading "title".
"date", "draft" and "archived" say when an object is visible.

${draftHelp}
  --keep-folders         the slug of blog/hello.md is blog/hello, and not hello
  --date-key <name>      where the publish date stands. Default: publishDate, pubDate or date`,
  async run(context, input) {
    const { readMarkdownFolder } = await import('../transfer/drafts/markdown.ts') // with libraries that nothing else needs
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
  summary: 'Make objects of the rows of a CSV file',
  args: ['group', 'collection', 'file'],
  options: { ...draftOptions, delimiter: { type: 'string' } },
  help: `The first row names the fields; items of a list are parted by |. The columns "publishDate", "draft" and "archived" say
when an object is visible.

${draftHelp}
  --delimiter <sign>     what parts the cells. Default: found in the first row`,
  async run(context, input) {
    const { readCsv } = await import('../transfer/drafts/csv.ts')
    const file = input.args[2] ?? ''
    const delimiter = textOption(input, 'delimiter')
    const read = () => readCsv(file, delimiter === undefined ? {} : { delimiter })
    return runDraftImport(context, input, { verb: 'import.csv', source: file, read })
  },
}

export const importCommands: readonly Command[] = [importGroupCommand, importMarkdownCommand, importCsvCommand]
