/** The kinds of work that media makes for later. */
export const deriveKind = 'media.derive'
export const removeKind = 'media.remove'

/** Whose smaller pictures there are to be made. */
export interface Derivation {
  fileId: string
}

/** What there is to be removed. */
export interface Removal {
  /** Of one file, and of all that was made of it. */
  keys: string[]
  /** The item that has another file now, to which addresses of this one still lead. */
  mediaKey?: string
  /** What they take until then. */
  bytes?: number
}

/** Of which pictures smaller ones are made. */
export const derivableTypes: ReadonlySet<string> = new Set([
  'image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif',
]) // biome-ignore format: one line reads better
