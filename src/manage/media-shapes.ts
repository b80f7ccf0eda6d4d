import type { Static } from 'typebox'
import type { CurrentFile } from '../content/delivery.ts'
import { toIso } from '../content/moments.ts'
import { mediaTypes } from '../content/schema.ts'
import type { MediaItem } from '../store/media.ts'
import { Type } from '../type.ts'
import { moment, orNull, ownId } from './shapes.ts'

/** What the verbs about files answer. */
const currentFileShape = Type.Object(
  {
    source: Type.String({ description: 'A signed address.' }),
    expiresAt: moment,
    srcset: Type.Optional(Type.String()),
    avifSrcset: Type.Optional(Type.String()),
    width: Type.Optional(Type.Integer()),
    height: Type.Optional(Type.Integer()),
    color: Type.Optional(Type.String()),
    placeholder: Type.Optional(Type.String()),
  },
  { description: 'As it is delivered.' },
)

export const mediaShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  key: Type.String({ description: 'What content refers to it by. It stays when the file is replaced.' }),
  type: Type.Enum([...mediaTypes]),
  contentType: Type.String({ examples: ['image/jpeg'] }),
  bytes: Type.Integer(),
  width: orNull(Type.Integer()),
  height: orNull(Type.Integer()),
  problem: orNull(Type.String({ description: 'Why there are no smaller pictures of it.' })),
  currentFile: currentFileShape,
  version: Type.Integer(),
  createdAt: moment,
  updatedAt: moment,
})

export const showMedia = (media: MediaItem, currentFile: CurrentFile): Static<typeof mediaShape> => ({
  _id: media.id,
  name: media.name,
  key: media.key,
  type: media.type,
  contentType: media.file.contentType,
  bytes: media.file.bytes,
  width: media.file.width,
  height: media.file.height,
  problem: media.file.problem,
  currentFile,
  version: media.version,
  createdAt: toIso(media.createdMs),
  updatedAt: toIso(media.updatedMs),
})

export const usageShape = Type.Object({
  kind: Type.Enum(['object', 'site']),
  _id: ownId,
  collectionId: orNull(ownId),
})

export const sweptShape = Type.Object({
  dryRun: Type.Boolean(),
  items: Type.Integer({ description: 'Items of the library.' }),
  strays: Type.Integer({ description: 'Files in the bucket that belonged to no item.' }),
  uploads: orNull(
    Type.Integer({
      description: 'Uploads in parts that were never completed (S3 only); null where the store does not list them.',
    }),
  ),
  bytes: Type.Integer(),
  removed: Type.Array(Type.Object({ key: Type.String(), name: orNull(Type.String()), bytes: Type.Integer() }), {
    description: 'The first hundred items and files.',
  }),
})
