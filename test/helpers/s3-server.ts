import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { S3Location } from '../../src/media/s3/url.ts'

/** The only keys that the server accepts. */
export const s3Credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }

/** A store may list fewer keys at once than it is asked for: so a few files fill several pages. */
export const keysPerPage = 20

/** A real S3 server on the loopback address with its buckets in a folder. */
export interface S3Server {
  location: S3Location
  /** As for `MEDIA_URL`. */
  mediaUrl: string
  /** The settings for this server. */
  env: Record<string, string>
  stop(): Promise<void>
}

export async function startS3Server(buckets: string[]): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-s3-'))
  const child = fork(join(import.meta.dirname, 's3-process.ts'), [directory, String(keysPerPage), ...buckets], {
    execArgv: ['--openssl-legacy-provider'],
  })
  const [address] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`The S3 server ended with ${code}.`))),
  ])
  const mediaUrl = `s3://127.0.0.1:${address.port}?region=us-east-1&pathStyle=true&tls=false`
  return {
    location: {
      kind: 's3',
      endpoint: new URL(`http://127.0.0.1:${address.port}`),
      region: 'us-east-1',
      pathStyle: true,
    },
    mediaUrl,
    env: {
      MEDIA_URL: mediaUrl,
      MEDIA_ACCESS_KEY_ID: s3Credentials.accessKeyId,
      MEDIA_SECRET_ACCESS_KEY: s3Credentials.secretAccessKey,
    },
    async stop() {
      if (child.exitCode === null) {
        child.disconnect()
        await once(child, 'exit')
      }
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
