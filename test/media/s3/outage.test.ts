import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startCutProxy } from '../../helpers/cut-proxy.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { fileForm, managing } from '../../helpers/manage.ts'
import { startS3Server } from '../../helpers/s3-server.ts'

const bucket = 'media'

onBothEngines('an S3 store', (engine) => {
  it('that is briefly unreachable costs no upload: the file waits in the inbox', async (t) => {
    const s3 = await startS3Server([bucket])
    t.after(s3.stop)
    const proxy = await startCutProxy({ host: '127.0.0.1', port: Number(s3.location.endpoint.port) })
    const env = { ...s3.env, MEDIA_URL: s3.mediaUrl.replace(s3.location.endpoint.port, String(proxy.port)) }
    const { newManagedGroup, ask, service, log } = await managing(engine, { env })
    const group = await newManagedGroup({ bucketName: bucket })
    proxy.cut()
    const mended = pause(1000).then(proxy.mend) // longer than three attempts
    const file = await ask('POST', `/manage/groups/${group.groupId}/media`, fileForm('a.txt', 'some text'))
    await mended
    const stored = await Array.fromAsync(service.media.storage.list(bucket, group.groupId))
    assert.deepEqual(stored.map(({ bytes }) => bytes), [9]) // biome-ignore format: short
    assert.ok(file._id)
    assert.doesNotMatch(log(), /the media store failed/)
  })
})
