import { once } from 'node:events'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, invalid } from '../core/errors.ts'
import { uploadTimeoutMs } from '../http/server.ts'
import type { Upload } from '../media/inbox.ts'

/** After the last byte of a body, the form either ends at once or never. */
const endOfFormMs = 1000
/** The part of a body that is not the file itself. */
const maxFormBytes = 16_384
const sliceBytes = 8192
const howTo = 'Send the file as multipart/form-data in a part called "file": curl -F file=@photo.jpg'
const unreadable = `The form cannot be read. ${howTo}`

/** For routes that take a file: no body is read before the verb opens the file. */
export function skipBodyParsing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The request has a file, which may take long to arrive. */
    takesFile?: boolean
  }
}

/** Reads the rest of a refused upload and drops it, because many clients read the answer only after sending everything. */
export function discardBody({ raw }: FastifyRequest): void {
  raw.unpipe()
  raw.resume()
}

function openForm({ headers }: FastifyRequest): BusboyInstance {
  const { 'content-type': contentType } = headers
  if (contentType === undefined) throw invalid(`A file is required. ${howTo}`)
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

/** Parsing the parts of a form is expensive, so the parser is fed small slices, and no more once the upload is refused. */
function feedInSlices(form: BusboyInstance, isRefused: () => boolean): Writable {
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
  }).on('error', () => {}) // the form's own listeners handle it
}

/** The file of a form as an unbuffered stream. The form must contain nothing else. */
export async function openUpload(request: FastifyRequest): Promise<Upload> {
  const { raw } = request
  const form = openForm(request)
  const minUploadBytes = Math.max(0, Number(request.headers['content-length'] ?? 0) - maxFormBytes)
  const { promise, resolve, reject } = Promise.withResolvers<Upload>()
  // Ends with the form, not with the file: another file or an abort may follow.
  const content = new PassThrough()
  content.on('error', reject) // a reader of the file gets the error, too
  const refuse = (message: string) => void content.destroy(invalid(message))
  let file: Readable | undefined
  const abort = () => refuse(file ? 'The file is incomplete. Send it again.' : unreadable)

  /** Some broken forms neither end nor fail. */
  function expectEnd(): void {
    if (!raw.readableEnded || file?.readableEnded === false) return
    setTimeout(() => content.writableEnded || refuse(unreadable), endOfFormMs).unref()
  }

  raw.on('error', abort)
  // From now on the connection is idle until the file is stored, which may take long.
  raw.once('end', () => raw.socket.setTimeout?.(uploadTimeoutMs))
  raw.once('end', expectEnd)
  form.on('error', abort)
  form.on('field', (field) =>
    refuse(
      field === 'file'
        ? 'The part "file" is a text. To send a file, write @ before its name: curl -F file=@photo.jpg'
        : `"${field}" belongs in the query string, as ?${field}=….`,
    ),
  )
  form.once('filesLimit', () => refuse('The form contains more than one file. Send one at a time.'))
  form.once('finish', () => (file ? content.end() : refuse(`The form contains no file. ${howTo}`)))
  form.on('file', (field, part, name) => {
    part.on('error', abort)
    if (field !== 'file') refuse(`The form has a file in "${field}". ${howTo}`)
    if (content.destroyed) return part.resume()
    file = part
    part.once('end', expectEnd)
    part.pipe(content, { end: false })
    resolve({ name: name || 'file', content, minUploadBytes })
  })
  raw.pipe(feedInSlices(form, () => content.destroyed))
  return promise
}
