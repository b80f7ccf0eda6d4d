import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contentTypeOf, dispositionOf } from '../../src/media/content-types.ts'

describe('contentTypeOf', () => {
  it('uses the extension of the key', () => {
    assert.equal(contentTypeOf('g1/cake.PNG'), 'image/png')
    assert.equal(contentTypeOf('g1/menu.pdf'), 'application/pdf')
    assert.equal(contentTypeOf('g1/notes.txt'), 'text/plain; charset=utf-8')
    assert.equal(contentTypeOf('g1/cake.unheard-of'), 'application/octet-stream')
    assert.equal(contentTypeOf('g1/cake'), 'application/octet-stream')
  })
})

describe('dispositionOf', () => {
  const dispositionOfKey = (key: string): string => dispositionOf(contentTypeOf(key))

  it('lets a browser display pictures, videos, audio, PDF and plain text', () => {
    for (const ending of 'png jpg jpeg gif webp avif mp4 webm mp3 ogg wav pdf txt'.split(' '))
      assert.equal(dispositionOfKey(`a.${ending}`), 'inline', ending)
  })

  it('makes everything that can contain a script, and every unknown type, a download', () => {
    for (const ending of 'svg html htm xhtml xml js mjs css json zip swf unheard-of'.split(' '))
      assert.equal(dispositionOfKey(`a.${ending}`), 'attachment', ending)
    assert.equal(dispositionOf('image/png+xml'), 'attachment')
    assert.equal(dispositionOf('text/plain-but-html'), 'attachment')
    assert.equal(dispositionOf(''), 'attachment')
  })
})
