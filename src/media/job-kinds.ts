export const deriveKind = 'media.derive'
export const removeKind = 'media.remove'

export interface DerivePayload {
  fileId: string
}

export interface RemovePayload {
  /** Of one file and its derivatives. */
  keys: string[]
  /** The item whose file was replaced, while URLs of the old file are valid. */
  mediaKey?: string
  /** Their size, which counts against the quota until they are removed. */
  bytes?: number
}

/** Types of pictures that get derivatives. */
export const derivableTypes: ReadonlySet<string> = new Set([
  'image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif',
]) // biome-ignore format: one line reads better

export const deriveJob = ({ id }: { id: string }) => ({
  kind: deriveKind,
  payload: { fileId: id } satisfies DerivePayload,
})
