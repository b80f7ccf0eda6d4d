import { DomUtils, parseDocument } from 'htmlparser2'
import type { StoredFile, UnfinishedUpload } from '../storage.ts'

type Nodes = Parameters<typeof DomUtils.getElementsByTagName>[1]

const parse = (xml: string): Nodes => parseDocument(xml, { xmlMode: true })

function textOf(name: string, nodes: Nodes): string | undefined {
  const [element] = DomUtils.getElementsByTagName(name, nodes)
  return element && DomUtils.textContent(element)
}

/** The text of the first element of that name. */
export const readElement = (xml: string, name: string): string | undefined => textOf(name, parse(xml))

/** One page of a listing, and the token of the next one. */
export function readListing(xml: string): { files: StoredFile[]; nextToken: string | undefined } {
  const [listing] = DomUtils.getElementsByTagName('ListBucketResult', parse(xml))
  if (!listing) throw new Error('the response is not a listing')
  const files = DomUtils.getElementsByTagName('Contents', listing).map((entry) => ({
    key: textOf('Key', entry) ?? '',
    bytes: Number(textOf('Size', entry)),
    modifiedMs: Date.parse(textOf('LastModified', entry) ?? ''),
  }))
  return { files, nextToken: textOf('NextContinuationToken', listing) || undefined }
}

/** Where the next page of unfinished uploads begins. */
export interface UploadsMarker {
  key: string
  uploadId: string
}

/** One page of unfinished uploads; undefined when the response is something else. */
export function readUploads(xml: string): { uploads: UnfinishedUpload[]; next: UploadsMarker | undefined } | undefined {
  const [listing] = DomUtils.getElementsByTagName('ListMultipartUploadsResult', parse(xml))
  if (!listing) return undefined
  const uploads = DomUtils.getElementsByTagName('Upload', listing).map((entry) => ({
    key: textOf('Key', entry) ?? '',
    uploadId: textOf('UploadId', entry) ?? '',
    startedMs: Date.parse(textOf('Initiated', entry) ?? ''),
  }))
  const key = textOf('NextKeyMarker', listing)
  const isMore = textOf('IsTruncated', listing) === 'true' && key
  return { uploads, next: isMore ? { key, uploadId: textOf('NextUploadIdMarker', listing) ?? '' } : undefined }
}

/** The request body that completes a multipart upload. */
export function writeParts(etags: readonly string[]): string {
  const parts = etags.map((etag, index) => {
    const text = etag.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    return `<Part><PartNumber>${index + 1}</PartNumber><ETag>${text}</ETag></Part>`
  })
  return `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
}
