import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Parser } from 'htmlparser2'
import { type ImageProps, imageAttributes, imageProps, type MediaValue, pictureHtml } from '../../client/src/index.ts'

const placeholder = 'data:image/webp;base64,UklGRg+/AA=='
const bare: MediaValue = {
  name: 'IMG_0001.jpg',
  key: 'g/cover.jpg',
  type: 'image',
  currentFile: { source: 'https://m.example/cover.jpg?e=1&s=2', expiresAt: '2026-09-21T13:33:20.000Z' },
}
const full: MediaValue = {
  ...bare,
  currentFile: {
    ...bare.currentFile,
    srcset: 'https://m.example/320.webp?s=1&e=2 320w, https://m.example/640.webp 640w',
    avifSrcset: 'https://m.example/320.avif?s=1&e=2 320w, https://m.example/640.avif 640w',
    width: 1200,
    height: 800,
    color: '#aabbcc',
    placeholder,
  },
}
const background = `#aabbcc url("${placeholder}") center/cover no-repeat`

const withFile = (more: object): MediaValue => ({ ...full, currentFile: { ...full.currentFile, ...more } })

/** The tags of a piece of HTML, as a browser reads them. */
function tagsOf(html: string): [name: string, attributes: Record<string, string>][] {
  const tags: [string, Record<string, string>][] = []
  const parser = new Parser({ onopentag: (name, attributes) => tags.push([name, attributes]) })
  parser.end(html)
  return tags
}

describe('imageAttributes', () => {
  it('returns everything an <img> needs to load the right size without layout shift', () => {
    assert.deepEqual(imageAttributes(full, { alt: 'Loaves', sizes: '50vw', loading: 'eager' }), {
      src: full.currentFile.source,
      srcset: full.currentFile.srcset,
      sizes: '50vw',
      width: 1200,
      height: 800,
      alt: 'Loaves',
      loading: 'eager',
      decoding: 'async',
      style: `background: ${background}`,
    })
  })

  it('leaves out what is unknown about an image', () => {
    assert.deepEqual(imageAttributes(bare, { sizes: '50vw' }), {
      src: bare.currentFile.source,
      alt: '',
      loading: 'lazy',
      decoding: 'async',
    })
  })

  it('assumes the full width of the window when no size is given', () => {
    assert.equal(imageAttributes(full).sizes, '100vw')
  })

  it('takes alt from the caller, else from the media value, and never the file’s name', () => {
    const described: MediaValue = { ...full, alt: 'Three loaves' }
    assert.equal(imageAttributes(described, { alt: 'Loaves' }).alt, 'Loaves')
    assert.equal(imageAttributes(described, { alt: '' }).alt, '')
    assert.equal(imageAttributes(described).alt, 'Three loaves')
    assert.equal(imageAttributes({ ...full, alt: 7 }).alt, '')
    assert.equal(imageAttributes(full).alt, '')
  })

  it('paints a placeholder without a colour, and no colour without a placeholder', () => {
    const { color: _color, ...colourless } = full.currentFile
    const { placeholder: _placeholder, ...plain } = full.currentFile
    assert.equal(
      imageAttributes({ ...full, currentFile: colourless }).style,
      `background: url("${placeholder}") center/cover no-repeat`,
    )
    assert.equal(imageAttributes({ ...full, currentFile: plain }).style, undefined)
  })

  it('allows only a colour and a data URL in the style', () => {
    for (const hostile of ['url(https://evil.example)', '#aabbcc; position: fixed', '#aabbcc\n', 'red']) {
      assert.equal(
        imageAttributes(withFile({ color: hostile })).style,
        `background: url("${placeholder}") center/cover no-repeat`,
      )
    }
    for (const hostile of [
      'https://evil.example/a.png',
      'data:text/html;base64,AAAA',
      'data:image/svg+xml,<svg onload=x>',
      `${placeholder}"); position: fixed; x: url("`,
      `${placeholder}\n`,
    ]) {
      assert.equal(imageAttributes(withFile({ placeholder: hostile })).style, undefined)
    }
  })

  it('returns undefined for a field without an image', () => {
    const post: { cover?: MediaValue | null } = {}
    for (const missing of [post.cover, null, undefined]) {
      assert.equal(imageAttributes(missing), undefined)
      assert.equal(imageProps(missing), undefined)
      assert.equal(pictureHtml(missing), undefined)
    }
  })
})

describe('imageProps', () => {
  it('returns the same in React’s spelling', () => {
    const { srcset, style, ...same } = imageAttributes(full, { alt: 'Loaves' })
    const props: ImageProps = imageProps(full, { alt: 'Loaves' })
    assert.deepEqual(props, { ...same, srcSet: srcset, style: { background } })
    assert.equal(style, `background: ${background}`)
  })

  it('returns only props that React accepts for an <img>', () => {
    const known = ['src', 'srcSet', 'sizes', 'width', 'height', 'alt', 'loading', 'decoding', 'style']
    assert.deepEqual(Object.keys(imageProps(full)).sort(), known.sort())
    for (const name of Object.keys(imageProps(bare))) assert.ok(known.includes(name), name)
  })
})

describe('pictureHtml', () => {
  it('offers AVIF first, with the attributes of the <img> as the fallback', () => {
    const options = { alt: 'Loaves', sizes: '50vw' }
    const written = Object.entries(imageAttributes(full, options)).map(([name, value]) => [name, String(value)])
    assert.deepEqual(tagsOf(pictureHtml(full, options)), [
      ['picture', {}],
      ['source', { type: 'image/avif', srcset: full.currentFile.avifSrcset, sizes: '50vw' }],
      ['img', Object.fromEntries(written)],
    ])
  })

  it('is an <img> in a <picture> for a file without smaller versions', () => {
    assert.equal(
      pictureHtml(bare),
      '<picture><img src="https://m.example/cover.jpg?e=1&amp;s=2" alt="" loading="lazy" decoding="async"></picture>',
    )
  })

  it('escapes every attribute', () => {
    const hostile = `"'><script>alert(1)</script><img src=x onerror="alert(1)" &quot;`
    const media = withFile({ source: hostile, srcset: hostile, avifSrcset: hostile, placeholder: hostile })
    const html = pictureHtml({ ...media, name: hostile, key: hostile, alt: hostile }, { sizes: hostile })
    const tags = tagsOf(html)
    assert.deepEqual(
      tags.map(([name]) => name),
      ['picture', 'source', 'img'],
    )
    const [, [, source], [, img]] = tags as [unknown, [string, object], [string, Record<string, string>]]
    assert.deepEqual(source, { type: 'image/avif', srcset: hostile, sizes: hostile })
    assert.deepEqual([img.src, img.srcset, img.sizes, img.alt], [hostile, hostile, hostile, hostile])
    assert.equal(img.onerror, undefined)
    assert.doesNotMatch(html, /<script/)
  })
})
