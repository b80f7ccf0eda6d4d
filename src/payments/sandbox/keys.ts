import { createHmac, timingSafeEqual } from 'node:crypto'

/** Secrets of the sandbox are made from one key and what they are for: none of them is kept anywhere. */
const made = (signingKey: Buffer, purpose: string): Buffer => createHmac('sha256', signingKey).update(purpose).digest()

const keyPattern = /^sk_test_sandbox_([0-9a-f]{24})_([0-9a-f]{64})$/

export const secretKeyOf = (signingKey: Buffer, integrationId: string): string =>
  `sk_test_sandbox_${integrationId}_${made(signingKey, integrationId).toString('hex')}`

/** The integration whose key it is; undefined where it is no key of ours. */
export function integrationOfKey(signingKey: Buffer, key: string): string | undefined {
  const [, integrationId, proof] = keyPattern.exec(key) ?? []
  if (integrationId === undefined || proof === undefined) return undefined
  return timingSafeEqual(Buffer.from(proof, 'hex'), made(signingKey, integrationId)) ? integrationId : undefined
}

export const webhookSecretOf = (signingKey: Buffer, integrationId: string, endpointId: string): string =>
  `whsec_${made(signingKey, `${integrationId} ${endpointId}`).toString('hex')}`

/** As the provider signs what it sends: the moment and the body, with the secret of the endpoint. */
export function signatureOf(secret: string, body: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000)
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`
}
