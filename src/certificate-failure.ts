/** How Node and OpenSSL name what is wrong with a certificate. */
const codes = /CERT|SIGNATURE|ISSUER|INVALID_CA|HOSTNAME_MISMATCH/

/** The code of a failure that is about the peer's certificate; undefined for any other failure. */
export function certificateFailure(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return codes.test(error.code) ? error.code : undefined
}
