import { newMediaKey } from '../src/content/media-keys.ts'
import { makeId } from '../src/core/ids.ts'
import type { Service } from '../src/service.ts'
import { openContentOf } from '../src/store/control/groups.ts'
import { type Derivative, insertFile } from '../src/store/media/files.ts'
import { insertMedia, type MediaItem } from '../src/store/media/items.ts'
import { createApiKey, createContainer, createGroup, createObjects, write } from '../test/helpers/authoring.ts'

const objectCount = 100
const fieldNames = ['cover', 'teaser', 'portrait']
const widths = [320, 640, 1280]
const paragraph = '<p>A sentence of some words that stands for what people write.</p>'
/** As long as the placeholder of a photograph. */
const placeholder = `data:image/webp;base64,${'UklGRtoA'.repeat(40)}`

/** As an upload and the image job would have stored it. */
export function makePicture(groupId: string, nowMs: number, name: string): MediaItem {
  const [id, fileId] = [makeId(), makeId()]
  const stem = newMediaKey(groupId, nowMs, fileId, name, 'jpg').replace(/\.jpg$/, '')
  const derivatives = (['webp', 'avif'] as const).flatMap((format) =>
    widths.map((width): Derivative => ({ width, format, key: `${stem}-${width}w.${format}`, bytes: 50_000 })),
  )
  return {
    id,
    key: newMediaKey(groupId, nowMs, id, name, 'jpg'),
    name,
    type: 'image',
    version: 1,
    createdMs: nowMs,
    updatedMs: nowMs,
    file: {
      id: fileId,
      key: `${stem}.jpg`,
      sha256: fileId,
      bytes: 4_000_000,
      contentType: 'image/jpeg',
      width: 4000,
      height: 3000,
      color: '#7c6a58',
      placeholder,
      derivatives,
      problem: null,
      createdMs: nowMs,
    },
  }
}

/** A collection of 100 objects with three pictures each, and the request for it. */
export async function createMediaPage({ store }: Service, nowMs: number) {
  const group = await createGroup(store, { name: 'Bench' }, nowMs)
  const { key: apiKey } = await createApiKey(store, group.id, 'bench', nowMs)
  const content = await openContentOf(store, group)
  const schema = {
    title: { type: 'text' },
    body: { type: 'longText' },
    ...Object.fromEntries(fieldNames.map((name) => [name, { type: 'image' }])),
  }
  const collection = await createContainer(content, { kind: 'collection', name: 'Posts', schema }, nowMs)
  const objects = Array.from({ length: objectCount }, (_, number) => ({
    value: { title: `Post ${number}`, body: paragraph.repeat(15) },
    pictures: fieldNames.map((field) => ({ field, media: makePicture(group.id, nowMs, `${field}-${number}.jpg`) })),
  }))
  await write(content, nowMs, async (writer) => {
    for (const { media } of objects.flatMap(({ pictures }) => pictures)) {
      await insertFile(writer, media.file)
      await insertMedia(writer, media)
    }
  })
  const inputs = objects.map(({ value, pictures }) => {
    const fields = pictures.map(({ field, media: { name, key, type } }) => [field, { name, key, type }])
    return { value: { ...value, ...Object.fromEntries(fields) } }
  })
  await createObjects(content, collection, inputs, nowMs)
  return {
    path: `/tenant/collectionObjects?collectionId=${collection.id}&limit=${objectCount}`,
    headers: { authorization: apiKey },
    addressCount: objectCount * fieldNames.length * (1 + 2 * widths.length),
  }
}
