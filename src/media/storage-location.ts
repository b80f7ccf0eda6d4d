import { resolve } from 'node:path'

/** The value of `MEDIA_URL`. */
export type StorageLocation =
  | { kind: 'folder'; path: string | undefined }
  | { kind: 's3'; endpoint: URL; region: string; pathStyle: boolean }

const s3Form = 's3://s3.eu-central-1.amazonaws.com?region=eu-central-1'

function flag(name: string, text: string | null, fallback: boolean): boolean {
  if (text === null) return fallback
  if (text !== 'true' && text !== 'false') throw new Error(`must have ${name}=true or ${name}=false`)
  return text === 'true'
}

function parseS3(url: URL): StorageLocation {
  const unknown = [...url.searchParams.keys()].find((name) => !['region', 'pathStyle', 'tls'].includes(name))
  if (unknown !== undefined) throw new Error(`must not have "${unknown}"; it accepts region, pathStyle and tls`)
  if (url.username || url.password)
    throw new Error('must not contain a key: set MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY')
  if (url.host === '' || (url.pathname !== '' && url.pathname !== '/') || url.hash)
    throw new Error(`must name the endpoint and no bucket, such as ${s3Form}`)
  const region = url.searchParams.get('region') ?? 'us-east-1'
  if (!/^[a-z0-9-]{1,40}$/.test(region)) throw new Error('must give the region as in region=eu-central-1')
  const scheme = flag('tls', url.searchParams.get('tls'), true) ? 'https' : 'http'
  return {
    kind: 's3',
    endpoint: new URL(`${scheme}://${url.host}`),
    region,
    pathStyle: flag('pathStyle', url.searchParams.get('pathStyle'), false),
  }
}

/** Throws with the end of the sentence "MEDIA_URL …". */
export function parseStorageLocation(text: string): StorageLocation {
  if (text === '') return { kind: 'folder', path: undefined }
  const url = URL.parse(text)
  if (url?.protocol === 's3:') return parseS3(url)
  if (url?.protocol === 'file:' && url.host === '') return { kind: 'folder', path: decodeURIComponent(url.pathname) }
  if (url === null) return { kind: 'folder', path: resolve(text) }
  throw new Error(`must be a folder, or a store such as ${s3Form}`)
}
