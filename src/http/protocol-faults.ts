import type { IncomingMessage } from 'node:http'

/** Node uses the first of several; a proxy in front may have used the last. */
function repeatsHeader({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const other = rawHeaders[at]
    if (other?.length === name.length && other.toLowerCase() === name) count += 1
  }
  return count > 1
}

const repeatsHost = (request: IncomingMessage): boolean => repeatsHeader(request, 'host')
const repeatsAuthorization = (request: IncomingMessage): boolean => repeatsHeader(request, 'authorization')

/** The problem with a request that Node accepts although it is ambiguous (RFC 9112 §2.3, §3.2, §6.1). */
export function findProtocolFault(request: IncomingMessage): string | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return 'This is not a version of HTTP that is spoken here; use 1.1.'
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)
    return 'HTTP/1.0 knows no Transfer-Encoding; send a Content-Length, or use HTTP/1.1.'
  if (httpVersion === '1.1' && headers.host === undefined) return 'The Host header is missing.'
  if (repeatsHost(request)) return 'The Host header comes more than once.'
  if (repeatsAuthorization(request)) return 'The Authorization header comes more than once.'
  return undefined
}
