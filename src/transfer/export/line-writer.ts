import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { type Counts, countLine, type ExportLine, noCounts } from '../export-format.ts'

const bytesPerWrite = 256 * 1024

/** Writes the lines of an export with backpressure. */
export interface LineWriter {
  counts: Counts
  write(line: Exclude<ExportLine, { type: 'end' }>): Promise<void>
  /** Adds the last line and syncs the file to disk. */
  finish(): Promise<void>
  /** Must always be called. */
  close(): Promise<void>
}

export async function createLineWriter(file: string): Promise<LineWriter> {
  const handle = await open(file, 'wx', 0o600)
  const digest = createHash('sha256')
  const counts = noCounts()
  let lines = 0
  let waiting: string[] = []
  let waitingLength = 0

  async function flush(): Promise<void> {
    const bytes = Buffer.from(waiting.join(''))
    waiting = []
    waitingLength = 0
    digest.update(bytes)
    await handle.writeFile(bytes) // appends at the current position
  }

  return {
    counts,
    async write(line) {
      const text = `${JSON.stringify(line)}\n`
      lines += 1
      countLine(counts, line.type)
      waiting.push(text)
      waitingLength += text.length
      if (waitingLength >= bytesPerWrite) await flush()
    },
    async finish() {
      await flush()
      const end = { type: 'end', lines: lines + 1, ...counts, sha256: digest.digest('hex') } satisfies ExportLine
      await handle.writeFile(`${JSON.stringify(end)}\n`)
      await handle.sync()
    },
    close: () => handle.close(),
  }
}
