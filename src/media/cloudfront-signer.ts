import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createLruMap } from '../cache/lru-map.ts'
import { encodeMediaKey, isMediaKey } from '../content/media-keys.ts'
import { invalid } from '../core/errors.ts'
import { type MediaSigner, mediaKeyFromUrl } from './signer.ts'

const maxCachedUrls = 20_000

const keyKinds = 'an RSA key of 2048 bits or an ECDSA key of the curve P-256'

/** Messages never repeat the setting: what looks like a wrong path may be a key. */
function readPem(setting: string): string {
  if (setting.includes('-----BEGIN')) return setting.replaceAll('\\n', '\n')
  try {
    return readFileSync(setting, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw invalid(`MEDIA_CDN_PRIVATE_KEY must be PEM text, or the path of a PEM file that can be read (${code}).`)
  }
}

function isUsable({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === 'rsa') return asymmetricKeyDetails?.modulusLength === 2048
  return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1'
}

function readPrivateKey(setting: string): KeyObject {
  const pem = readPem(setting)
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw invalid(`MEDIA_CDN_PRIVATE_KEY must be ${keyKinds}, as PEM and without a passphrase.`)
  }
  if (!isUsable(key)) throw invalid(`MEDIA_CDN_PRIVATE_KEY must be ${keyKinds}: CloudFront accepts no other kind.`)
  return key
}

const replacements: Record<string, string> = { '+': '-', '=': '_', '/': '~' }

/** CloudFront's own URL-safe base64. */
const toCloudFrontText = (bytes: Buffer): string =>
  bytes.toString('base64').replace(/[+=/]/g, (sign) => replacements[sign] ?? sign)

/** Signs URLs of a CloudFront distribution in front of the S3 store, with a "canned policy". */
export function createCloudFrontSigner(options: {
  /** `{bucket}` in it is replaced by the bucket's name. */
  url: string
  keyId: string
  /** PEM text, or the path of a PEM file. */
  privateKey: string
}): MediaSigner {
  const privateKey = readPrivateKey(options.privateKey)
  // ECDSA signatures differ each time, and RSA is slow: a URL is signed once per window.
  const signed = createLruMap<string, string>(maxCachedUrls)

  /** Normalised as by a browser, since the signature covers the text. */
  const baseOf = (bucketName: string): string =>
    new URL(options.url.replaceAll('{bucket}', bucketName)).href.replace(/\/$/, '')

  function signUrl(url: string, expiresSeconds: number): string {
    const policy = JSON.stringify({
      Statement: [{ Resource: url, Condition: { DateLessThan: { 'AWS:EpochTime': expiresSeconds } } }],
    })
    const signature = toCloudFrontText(sign('sha256', Buffer.from(policy), privateKey))
    const keyId = encodeURIComponent(options.keyId)
    // CloudFront assumes SHA-1 by default.
    return `${url}?Expires=${expiresSeconds}&Key-Pair-Id=${keyId}&Signature=${signature}&Hash-Algorithm=SHA256`
  }

  return {
    sign(bucketName, key, { expiresSeconds }) {
      if (!isMediaKey(key)) throw new Error(`The media key ${JSON.stringify(key)} cannot be signed.`)
      const url = `${baseOf(bucketName)}/${encodeMediaKey(key)}`
      const id = `${expiresSeconds} ${url}`
      const cached = signed.get(id)
      if (cached) return cached
      const signedUrl = signUrl(url, expiresSeconds)
      signed.set(id, signedUrl)
      return signedUrl
    },
    keyOf: (bucketName, url) => mediaKeyFromUrl(baseOf(bucketName), url),
  }
}
