import { once } from 'node:events'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, invalid } from '../errors.ts'
import type { Upload } from '../media/receive.ts'

/** A file may take as long as it takes, as long as it comes. */
export const uploadTimeoutMs = 3_600_000
/** When all of a form has been read, its end follows at once or never. */
const endOfFormMs = 1000
/** So much of a body may be the form around the file. */
const mostFormBytes = 16_384
const sliceBytes = 8192
const howTo = 'Send the file as multipart/form-data in a part called "file": curl -F file=@photo.jpg'
const unreadable = `The form cannot be read. ${howTo}`

/** For routes that take a file: no body is read before somebody asks for the file. */
export function leaveBodiesUnread(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A file comes with the request; it may take its time. */
    takesFile?: boolean
  }
}

/** Who sends a file that is refused is let finish, so that they read the answer. */
export function letGoOfBody({ raw }: FastifyRequest): void {
  raw.unpipe()
  raw.resume()
}

function openForm({ headers }: FastifyRequest): BusboyInstance {
  const { 'content-type': contentType } = headers
  if (contentType === undefined) throw invalid(`A file must be sent along. ${howTo}`)
  if (!/^multipart\/form-data\b/i.test(contentType)) throw new AppError('UnsupportedMediaType', `${howTo}.`)
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { files: 1, fields: 10, fieldSize: 1000, headerPairs: 20 },
    })
  } catch {
    throw invalid(unreadable)
  }
}

/** Each part of a form costs far more than its bytes: so it is fed a little at a time, and nothing once it was refused. */
function inSlices(form: BusboyInstance, isRefused: () => boolean): Writable {
  async function feed(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length && !isRefused(); at += sliceBytes)
      if (!form.write(chunk.subarray(at, at + sliceBytes))) await once(form, 'drain')
  }
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void feed(chunk).then(() => done(), done),
    final(done) {
      form.end()
      done()
    },
  }).on('error', () => {}) // the form's own listeners hear of it
}

/** The one file of a form, as a stream: nothing of it is kept in memory. The form must hold nothing else. */
export async function openUpload(request: FastifyRequest): Promise<Upload> {
  const { raw } = request
  const form = openForm(request)
  const leastBytes = Math.max(0, Number(request.headers['content-length'] ?? 0) - mostFormBytes)
  const { promise, resolve, reject } = Promise.withResolvers<Upload>()
  // Ends when the form does, and not when the file does: what comes behind it may be another file, or break off.
  const content = new PassThrough()
  content.on('error', reject) // where the file is being read already, its reader is told
  const refuse = (message: string) => void content.destroy(invalid(message))
  let file: Readable | undefined
  const breakOff = () => refuse(file ? 'The file did not come to its end. Send it again.' : unreadable)

  /** Some broken forms neither end nor fail. */
  function expectEnd(): void {
    if (!raw.readableEnded || file?.readableEnded === false) return
    setTimeout(() => content.writableEnded || refuse(unreadable), endOfFormMs).unref()
  }

  raw.on('error', breakOff)
  // From now on nothing moves on the connection until the file is stored, which may take long.
  raw.once('end', () => raw.socket.setTimeout?.(uploadTimeoutMs))
  raw.once('end', expectEnd)
  form.on('error', breakOff)
  form.on('field', (field) =>
    refuse(
      field === 'file'
        ? 'The part "file" is a text. To send a file, name it behind an @: curl -F file=@photo.jpg'
        : `"${field}" belongs in the query string, as ?${field}=….`,
    ),
  )
  form.once('filesLimit', () => refuse('The form holds more than one file. Send one at a time.'))
  form.once('finish', () => (file ? content.end() : refuse(`The form holds no file. ${howTo}`)))
  form.on('file', (field, part, name) => {
    part.on('error', breakOff)
    if (field !== 'file') refuse(`The form has a file in "${field}". ${howTo}`)
    if (content.destroyed) return part.resume()
    file = part
    part.once('end', expectEnd)
    part.pipe(content, { end: false })
    resolve({ name: name || 'file', content, leastBytes })
  })
  raw.pipe(inSlices(form, () => content.destroyed))
  return promise
}
