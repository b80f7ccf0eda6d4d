/** The parts of a raw HTTP request, which tests can combine incorrectly. */
export interface RawRequest {
  method: string
  target: string
  version: string
  headers: [name: string, value: string][]
  body: Buffer
}

/** A correct request; with a body it has a Content-Length. */
export function rawRequest(
  method: string,
  target: string,
  headers: Record<string, string>,
  body: string | Buffer = '',
): RawRequest {
  const bytes = Buffer.from(body)
  const length: [string, string][] = bytes.length > 0 ? [['Content-Length', String(bytes.length)]] : []
  return {
    method,
    target,
    version: 'HTTP/1.1',
    headers: [['Host', 'sluice.example'], ...Object.entries(headers), ...length],
    body: bytes,
  }
}

export function headOf({ method, target, version, headers }: RawRequest, lineEnd = '\r\n'): Buffer {
  const lines = [`${method} ${target} ${version}`, ...headers.map(([name, value]) => `${name}: ${value}`), '', '']
  return Buffer.from(lines.join(lineEnd), 'latin1')
}

export const bytesOf = (request: RawRequest): Buffer => Buffer.concat([headOf(request), request.body])
