import { hash } from 'node:crypto'
import { mediaUsesAnywhere } from '../../content/media-uses.ts'
import { parseDateTime } from '../../content/moments.ts'
import { mediaTypes } from '../../content/schema.ts'
import { AppError } from '../../core/errors.ts'
import { contentTypeOf } from '../../media/content-types.ts'
import { inspectFile } from '../../media/files/inspect.ts'
import { displayName } from '../../media/library.ts'
import type { MediaFile } from '../../store/media/files.ts'
import type { MediaItem } from '../../store/media/items.ts'
import type { MediaLine } from '../export-format.ts'
import type { CheckedExport } from './check-export.ts'
import { pathOfMedia } from './media.ts'
import type { ImportStep, LibraryStep } from './step.ts'

const itemsPerStep = 100

interface FoundFacts {
  type: MediaItem['type']
  facts: Pick<MediaFile, 'contentType' | 'width' | 'height' | 'problem'>
}

/** Inspects a file. If that fails, the type follows from its name, and the problem is stored. */
async function inspect(path: string, key: string): Promise<FoundFacts> {
  try {
    // No limit: the picture exists already.
    const { type, contentType, width, height } = await inspectFile(path, { maxPixels: Number.POSITIVE_INFINITY })
    return { type, facts: { contentType, width, height, problem: null } }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const [contentType = ''] = contentTypeOf(key).split(';')
    const type = mediaTypes.find((each) => contentType.startsWith(`${each}/`)) ?? 'file'
    return { type, facts: { contentType, width: null, height: null, problem: error.message } }
  }
}

/** Creates the item of a file to which content referred directly. Its ids are deterministic. */
async function makeItem({ folder, head }: CheckedExport, { key, sha256, bytes }: MediaLine): Promise<MediaItem> {
  const createdMs = parseDateTime(head.exportedAt) as number // checked before
  const seconds = Math.floor(createdMs / 1000)
    .toString(16)
    .padStart(8, '0')
  const idFor = (what: string): string => seconds + hash('sha256', `${head.groupId} ${what}`).slice(0, 16)
  const { type, facts } = await inspect(pathOfMedia(folder, head.groupId, key), key)
  const unseen = { color: null, placeholder: null, derivatives: [] }
  const file: MediaFile = { id: idFor(sha256), key, sha256, bytes, ...facts, ...unseen, createdMs }
  return { id: idFor(key), key, name: displayName(key), type, version: 1, createdMs, updatedMs: createdMs, file }
}

/** The files to which a step's content refers. */
function keysIn(step: ImportStep): string[] {
  const values =
    step.kind === 'site'
      ? [step.site.settings]
      : step.kind === 'objects'
        ? [...step.objects, ...step.versions].map(({ value }) => value)
        : []
  return values.flatMap((value) => mediaUsesAnywhere(value).map(({ key }) => key))
}

/**
 * Adds library items to the steps of an export without a library, for all files that its content shows: so they can be
 * replaced and their uses found, like those of uploaded files.
 */
export async function* deriveLibrary(
  checked: CheckedExport,
  steps: AsyncIterable<ImportStep>,
): AsyncGenerator<ImportStep> {
  const shown = new Set<string>()
  let items: LibraryStep['items'] = []
  for await (const step of steps) {
    yield step
    for (const key of keysIn(step)) shown.add(key)
    if (step.kind !== 'media' || !shown.has(step.media.key)) continue
    items.push({ media: await makeItem(checked, step.media), location: step.location })
    if (items.length < itemsPerStep) continue
    yield { kind: 'library', items }
    items = []
  }
  if (items.length > 0) yield { kind: 'library', items }
}
