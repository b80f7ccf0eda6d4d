import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createBoundedMap } from '../bounded-map.ts'
import { encodeMediaKey, isMediaKey } from '../content/media-keys.ts'
import { invalid } from '../errors.ts'
import { keyAfter } from './key-in-address.ts'
import type { MediaSigner } from './signer.ts'

const keptAddresses = 20_000

const keyKinds = 'an RSA key of 2048 bits or an ECDSA key of the curve P-256'

/** Nothing of the setting is repeated in a message: what looks like a wrong path may be a key. */
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
  if (!isUsable(key)) throw invalid(`MEDIA_CDN_PRIVATE_KEY must be ${keyKinds}: CloudFront takes no other kind.`)
  return key
}

const replacements: Record<string, string> = { '+': '-', '=': '_', '/': '~' }

/** Base64 without the signs that mean something in a query string, in CloudFront's own way. */
function toCloudFrontText(bytes: Buffer): string {
  return bytes.toString('base64').replace(/[+=/]/g, (sign) => replacements[sign] ?? sign)
}

/** Signs addresses of a CloudFront distribution before the S3 store, with its "canned policy". */
export function createCloudFrontSigner(options: {
  /** `{bucket}` in it stands for the bucket's name. */
  url: string
  keyId: string
  /** PEM text, or the path of a PEM file. */
  privateKey: string
}): MediaSigner {
  const privateKey = readPrivateKey(options.privateKey)
  // An ECDSA signature is another one each time, and an RSA one is slow: an address is made once in its window.
  const signed = createBoundedMap<string, string>(keptAddresses)

  /** Written as a browser will write it, for it is the written form that is signed. */
  const baseOf = (bucketName: string): string =>
    new URL(options.url.replaceAll('{bucket}', bucketName)).href.replace(/\/$/, '')

  function signAddress(address: string, expiresSeconds: number): string {
    const policy = JSON.stringify({
      Statement: [{ Resource: address, Condition: { DateLessThan: { 'AWS:EpochTime': expiresSeconds } } }],
    })
    const signature = toCloudFrontText(sign('sha256', Buffer.from(policy), privateKey))
    const keyId = encodeURIComponent(options.keyId)
    // CloudFront takes the signature for one over SHA-1 unless it is told.
    return `${address}?Expires=${expiresSeconds}&Key-Pair-Id=${keyId}&Signature=${signature}&Hash-Algorithm=SHA256`
  }

  return {
    sign(bucketName, key, { expiresSeconds }) {
      if (!isMediaKey(key)) throw new Error(`The media key ${JSON.stringify(key)} cannot be signed.`)
      const address = `${baseOf(bucketName)}/${encodeMediaKey(key)}`
      const id = `${expiresSeconds} ${address}`
      const known = signed.get(id)
      if (known) return known
      const made = signAddress(address, expiresSeconds)
      signed.set(id, made)
      return made
    },
    keyOf: (bucketName, address) => keyAfter(baseOf(bucketName), address),
  }
}
