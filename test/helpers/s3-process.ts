// @ts-expect-error: it comes without types
import S3rver from '@20minutes/s3rver'

// An S3 server in a separate process: its continuation tokens need a cipher that Node only has with a flag.
const [directory, keysPerPage, ...buckets] = process.argv.slice(2)
const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  directory,
  configureBuckets: buckets.map((name) => ({ name })),
})
const { store } = server
const listObjects = store.listObjects.bind(store)
store.listObjects = (bucket: string, options: { maxKeys: number }) =>
  listObjects(bucket, { ...options, maxKeys: Math.min(options.maxKeys, Number(keysPerPage)) })
process.on('disconnect', () => process.exit())
process.send?.(await server.run())
