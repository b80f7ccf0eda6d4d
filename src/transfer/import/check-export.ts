import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid } from '../../core/errors.ts'
import {
  type Counts,
  type EndLine,
  type ExportLine,
  type HeadLine,
  knownFormats,
  linesFile,
  toExportLine,
} from '../export-format.ts'
import type { OnProgress } from '../progress.ts'
import { createLineChecker } from './check-lines.ts'
import { type Line, readLines } from './line-reader.ts'
import { createProblemList, type ProblemList } from './problem-list.ts'

/** A fully validated export. */
export interface CheckedExport {
  folder: string
  head: HeadLine
  counts: Counts
  /** Of all lines but the last, to detect later changes. */
  sha256: string
}

function parseLine(problems: ProblemList, location: string, bytes: Buffer): ExportLine | undefined {
  const found = problems.attempt(location, () => {
    if (!isUtf8(bytes)) throw invalid('is not UTF-8 text')
    try {
      return toExportLine(JSON.parse(bytes.toString()))
    } catch {
      throw invalid('is not JSON')
    }
  })
  if (!found) return undefined
  if ('line' in found) return found.line
  for (const problem of found.problems) problems.add(location, problem)
  return undefined
}

/** Throws at once if the head is wrong, since every other problem would follow from it. */
function readHead(file: string, { bytes }: Line): HeadLine {
  const problems = createProblemList()
  const line = parseLine(problems, 'line 1', bytes)
  const format = /^\{"type":"sluice-export","format":(\d+)/.exec(bytes.toString('latin1', 0, 100))?.[1]
  if (format !== undefined && !knownFormats.includes(Number(format))) {
    throw invalid(
      `${file} has the format ${format}, and this Sluice reads ${knownFormats.join(', ')}. Use the Sluice that wrote it, or a newer one.`,
    )
  }
  problems.refuse(`${file} is not an export of Sluice.`)
  if (line?.type !== 'sluice-export')
    throw invalid(`${file} is not an export of Sluice: its first line is not the head.`)
  return line
}

function checkEnd(problems: ProblemList, number: number, end: EndLine, counts: Counts, sha256: string): void {
  const location = `line ${number}`
  if (end.lines !== number) problems.add(location, `the export had ${end.lines} lines, and there are ${number}`)
  const parts = Object.keys(counts) as (keyof Counts)[]
  for (const part of parts.filter((name) => (end[name] ?? 0) !== counts[name]))
    problems.add(location, `the export had ${end[part] ?? 0} ${part}, and there are ${counts[part]}`)
  if (end.sha256 !== sha256)
    problems.add(location, 'the file was changed after the export. If you changed it on purpose, add --edited')
}

/**
 * Reads the whole export and throws an error that names every problem. Only the ids are kept in memory, to detect
 * duplicates.
 */
export async function checkExport(
  folder: string,
  { isEdited, onProgress }: { isEdited: boolean; onProgress: OnProgress },
): Promise<CheckedExport> {
  const file = join(folder, linesFile)
  const { size } = await stat(file).catch((error: Error): never => {
    throw invalid(`${folder} is not the folder of an export: ${error.message}.`)
  })
  const problems = createProblemList()
  const digest = createHash('sha256')
  let checked: { head: HeadLine; checker: ReturnType<typeof createLineChecker> } | undefined
  let end: { number: number; line: EndLine } | undefined
  let done = 0

  for await (const read of readLines(file)) {
    const location = `line ${read.number}`
    onProgress({ stage: 'Checking', done, total: size })
    done += read.bytes.length + 1
    if (!checked) {
      const head = readHead(file, read)
      checked = { head, checker: createLineChecker(folder, head, problems) }
    } else if (end) {
      problems.add(location, 'follows the end')
    } else {
      const line = parseLine(problems, location, read.bytes)
      if (line) await checked.checker.check(location, line)
      if (line?.type === 'end') end = { number: read.number, line }
    }
    if (!end) digest.update(read.bytes).update('\n')
  }

  if (!checked) throw invalid(`${file} is empty: it is not an export of Sluice.`)
  const { head, checker } = checked
  const sha256 = digest.digest('hex')
  if (!end) problems.add('the end', 'the last line is missing: the file was cut off. Copy or export it again')
  else if (!isEdited) checkEnd(problems, end.number, end.line, checker.counts, sha256)
  problems.refuse(`The export in ${folder} cannot be imported.`)
  return { folder, head, counts: checker.counts, sha256 }
}
