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

/** A machine without a browser gets one: a test that asks for it is never skipped. */
function findOrInstall(): string {
  const found = findInPath()
  if (found) return found
  const { status, stdout, stderr } = spawnSync(installer, ['chromium'], { encoding: 'utf8' })
  const installed = findInPath()
  if (!installed) throw new Error(`There is no browser, and installing one ended with ${status}.\n${stdout}${stderr}`)
  return installed
}

/** Chromium without a window. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findOrInstall() })
}

/** A page, and all that the browser complains about on it: errors, warnings, dialogs, requests that failed. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage(options)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`))
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()} ${request.failure()?.errorText}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { page, complaints }
}
