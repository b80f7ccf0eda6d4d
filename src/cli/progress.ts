import type { OnProgress, Progress } from '../transfer/progress.ts'

/** Progress goes to standard error, so that a command's output can be redirected to a file. */
export interface ProgressStream {
  isTTY?: boolean
  write(text: string): unknown
}

const barWidth = 30
const barEveryMs = 100
const lineEveryMs = 5000

const inWords = ({ done, total }: Progress): string =>
  total > 0 ? `${Math.floor((done / total) * 100)} %` : done.toLocaleString('en')

function barOf({ done, total }: Progress): string {
  if (total === 0) return ''
  const filled = Math.min(barWidth, Math.floor((done / total) * barWidth))
  return `[${'#'.repeat(filled)}${' '.repeat(barWidth - filled)}] `
}

/** A progress bar on a terminal; in a log, a line at the start of each stage and then every few seconds. */
export async function withProgress<Result>(
  isShown: boolean,
  work: (onProgress: OnProgress) => Promise<Result>,
  stream: ProgressStream = process.stderr,
): Promise<Result> {
  if (!isShown) return work(() => {})
  let stage = ''
  let shownMs = 0

  function show(progress: Progress): void {
    const isNewStage = progress.stage !== stage
    const nowMs = performance.now()
    if (!isNewStage && nowMs - shownMs < (stream.isTTY ? barEveryMs : lineEveryMs)) return
    shownMs = nowMs
    stage = progress.stage
    if (stream.isTTY) stream.write(`\r\x1b[K${stage} ${barOf(progress)}${inWords(progress)}`)
    else stream.write(isNewStage ? `${stage} …\n` : `${stage}: ${inWords(progress)}\n`)
  }

  try {
    return await work(show)
  } finally {
    if (stream.isTTY && stage !== '') stream.write('\r\x1b[K')
  }
}

export interface Watcher {
  /** Whether output may have colours and symbols. */
  isRich: boolean
  /** Shows one line that the next one replaces; an empty one clears it. */
  showProgress(text: string): void
}

const clearLine = '\r\u001b[2K'

export function watcherOf({ stdout, stderr, env }: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'env'>): Watcher {
  return {
    isRich: stdout.isTTY === true && !env.NO_COLOR,
    showProgress(text) {
      if (stderr.isTTY) stderr.write(`${clearLine}${text.slice(0, (stderr.columns || 80) - 1)}`)
    },
  }
}
