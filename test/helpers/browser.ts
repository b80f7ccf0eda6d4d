import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome']
const installer = join(import.meta.dirname, '../../scripts/install-debian.sh')

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function findInPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(canRun)
}

/** Installs the browser if it is missing, so that tests are never skipped. */
function findOrInstall(): string {
  const found = findInPath()
  if (found) return found
  const { status, stdout, stderr } = spawnSync(installer, ['chromium'], { encoding: 'utf8' })
  const installed = findInPath()
  if (!installed) throw new Error(`There is no browser, and installing one ended with ${status}.\n${stdout}${stderr}`)
  return installed
}

/** Headless Chromium. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findOrInstall() })
}

/** A page and its problems: errors, warnings, dialogs, failed requests. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; problems: string[] }> {
  const page = await browser.newPage(options)
  const problems: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`))
  page.on('requestfailed', (request) => problems.push(`failed: ${request.url()} ${request.failure()?.errorText}`))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { page, problems }
}
