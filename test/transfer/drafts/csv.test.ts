import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createWriteStream, existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { toCsvLine } from '../../../src/content/csv-line.ts'
import { AppError } from '../../../src/core/errors.ts'
import { type CsvOptions, readCsv } from '../../../src/transfer/drafts/csv.ts'
import { folderOf } from '../files.ts'

/** `npm run prove -- transfer` reads 100,000. */
const rows = Number(process.env.CSV_ROWS ?? 30_000)
/** Of heap: a fraction of the file, so that retained rows are noticed. */
const mostMegabytes = 4

async function readText(t: TestContext, text: string | Uint8Array, options?: CsvOptions) {
  return Array.fromAsync(readCsv(join(folderOf(t, { 'in.csv': text }), 'in.csv'), options))
}

async function valuesIn(t: TestContext, text: string | Uint8Array, options?: CsvOptions) {
  return (await readText(t, text, options)).map((draft) => draft.value)
}

const refusal = (message: RegExp) => (error: unknown) =>
  error instanceof AppError && error.code === 'ValidationError' && message.test(error.message)

describe('a CSV file', () => {
  it('becomes a draft for each row below its header', async (t) => {
    assert.deepEqual(await readText(t, 'name, rating\nAda,5\nBob,\n'), [
      { source: 'in.csv line 2', value: { name: 'Ada', rating: '5' }, problems: [], listSeparator: '|' },
      { source: 'in.csv line 3', value: { name: 'Bob', rating: '' }, problems: [], listSeparator: '|' },
    ])
  })

  it('may contain quoted delimiters, quotes and line ends', async (t) => {
    const values = await valuesIn(t, 'a,b\r\n"1,2","say ""hi"""\r\n"x\r\ny","x\ny"\r\n')
    assert.deepEqual(values, [
      { a: '1,2', b: 'say "hi"' },
      { a: 'x\r\ny', b: 'x\ny' },
    ])
  })

  it('has an editor’s line numbers, with quoted line ends and empty lines', async (t) => {
    for (const end of ['\n', '\r\n', '\r']) {
      const text = ['', '"a', 'a",b', '1,2', '', '', '"x', '', 'y",2', ' ,', '3,4'].join(end)
      const sources = (await readText(t, text)).map((draft) => draft.source)
      assert.deepEqual(sources, ['in.csv line 4', 'in.csv line 7', 'in.csv line 11'], JSON.stringify(end))
    }
  })

  it('may mix line ends, and lack the last one', async (t) => {
    assert.deepEqual(await valuesIn(t, 'a,b\r\n1,2\n3,4\r5,6'), [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
      { a: '5', b: '6' },
    ])
  })

  it('may have a byte order mark, also before quotes', async (t) => {
    for (const text of ['\uFEFFa,b\n1,é\n', '\uFEFF"a","b"\n1,é\n']) {
      assert.deepEqual(await valuesIn(t, text), [{ a: '1', b: 'é' }])
    }
  })

  const delimited: Record<string, string> = {
    comma: 'a,b\n1,2;3;4',
    semicolon: 'a;b\n1;2,3,4',
    tab: 'a\tb\n1\t2,3',
    'semicolon beside quoted commas': '"x,y,z";b\n1;2',
    'comma after an empty line': '\n\na,b\n1,2',
  }
  for (const [name, text] of Object.entries(delimited)) {
    it(`has its delimiter detected in the header: ${name}`, async (t) => {
      assert.equal(Object.keys((await valuesIn(t, text))[0] ?? {}).length, 2)
    })
  }

  it('of one column needs no delimiter', async (t) => {
    assert.deepEqual(await valuesIn(t, 'name\nAda\n\nBob'), [{ name: 'Ada' }, { name: 'Bob' }])
    assert.deepEqual(await valuesIn(t, '"name"\n"a;b"'), [{ name: 'a;b' }])
  })

  it('is split by the given delimiter', async (t) => {
    assert.deepEqual(await valuesIn(t, 'a,b|c\n1|2', { delimiter: '|' }), [{ 'a,b': '1', c: '2' }])
    assert.deepEqual(await valuesIn(t, 'a¦b\n1¦2', { delimiter: '¦' }), [{ a: '1', b: '2' }])
  })

  for (const delimiter of ['', '"', '\n', ',,']) {
    it(`cannot be split by ${JSON.stringify(delimiter)}`, async (t) => {
      await assert.rejects(readText(t, 'a,b\n', { delimiter }), refusal(/delimiter must be one character/))
    })
  }

  it('reports rows with too few or too many cells, and continues', async (t) => {
    const drafts = await readText(t, 'a,b\n1\n1,2,3\n1,2\n')
    assert.deepEqual(
      drafts.map((draft) => draft.problems),
      [['line 2 has 1 cells, and the header has 2'], ['line 3 has 3 cells, and the header has 2'], []],
    )
  })

  it('reports cells that are not UTF-8, and continues', async (t) => {
    const drafts = await readText(t, Buffer.from('a,b\n1,caf\xe9\n1,caf\xc3\xa9\n', 'latin1'))
    assert.deepEqual(
      drafts.map((draft) => draft.problems),
      [['line 2 has a b that is not UTF-8 text'], []],
    )
    assert.equal(drafts[1]?.value.b, 'café')
  })

  it('has publishDate, draft, archived and archiveDate in separate columns; a date remains a field', async (t) => {
    const text =
      'name,publishDate,Draft,archived,date,archiveDate\nA,2024-05-01,TRUE,false,2024-01-01,2030-01-01\nB,,,,,\nC,soon,x,,,\n'
    const [first, second, third] = await readText(t, text)
    assert.deepEqual(first, {
      source: 'in.csv line 2',
      value: { name: 'A', date: '2024-01-01' },
      publishDate: '2024-05-01T00:00:00.000Z',
      draft: true,
      archived: false,
      archiveDate: '2030-01-01T00:00:00.000Z',
      problems: [],
      listSeparator: '|',
    })
    assert.deepEqual(Object.keys(second ?? {}), ['source', 'value', 'problems', 'listSeparator'])
    assert.equal(third?.problems.length, 2)
  })

  it('may have a column named __proto__', async (t) => {
    const [value] = await valuesIn(t, '__proto__,a\nx,1\n')
    assert.deepEqual(Object.entries(value ?? {}), [
      ['__proto__', 'x'],
      ['a', '1'],
    ])
  })

  const refused: Record<string, [text: string | Uint8Array, message: RegExp]> = {
    'without a header': ['', /empty/],
    'of empty lines': ['\n\n', /empty/],
    'with a column twice': ['a,b,a,b,c\n', /more than one a, b\./],
    'with a column without a name': ['a,, ,b\n', /no name for column 2, 3\./],
    'with a header that is not UTF-8': [Buffer.from('\uFEFFa,b\n', 'utf16le'), /not UTF-8/],
    'with a quote that is never closed': ['a,b\n1,2\n3,"4\n', /near line [34]: a quote is opened and never closed/],
    'with a quote inside a cell': ['a,b\n1,2\n3,4"5\n', /near line 3: a quote is inside/],
    'with text after a quote': ['a,b\n1,2\n3,"4"5\n', /near line 3: a quote is inside/],
    'with a row beyond 2 MB': [`a,b\n"${'x'.repeat(3_000_000)}`, /longer than 2 MB/],
  }
  for (const [name, [text, message]] of Object.entries(refused)) {
    it(`${name} is refused`, async (t) => {
      await assert.rejects(readText(t, text), refusal(message))
    })
  }

  it('that is missing, or is a folder, is refused', async (t) => {
    await assert.rejects(Array.fromAsync(readCsv('/nowhere/in.csv')), refusal(/in\.csv cannot be read: ENOENT/))
    await assert.rejects(Array.fromAsync(readCsv(folderOf(t, {}))), refusal(/cannot be read: EISDIR/))
  })

  it('is closed when its reader stops early', { skip: !existsSync('/proc/self/fd') }, async (t) => {
    const file = join(folderOf(t, { 'in.csv': `a\n${'x\n'.repeat(1_000_000)}` }), 'in.csv')
    const linkOf = (descriptor: string) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`)
      } catch {
        return ''
      }
    }
    const isOpen = () => readdirSync('/proc/self/fd').map(linkOf).includes(file)
    for await (const draft of readCsv(file)) {
      assert.equal(draft.value.a, 'x')
      assert.ok(isOpen())
      break
    }
    for (let tries = 0; isOpen() && tries < 100; tries++) await setTimeout(10)
    assert.equal(isOpen(), false)
  })

  it(`of ${rows.toLocaleString('en')} rows needs no more memory than a small one`, async (t) => {
    const file = join(folderOf(t, {}), 'big.csv')
    const output = createWriteStream(file)
    output.write(toCsvLine(['name', 'text', 'rating']))
    for (let number = 0; number < rows; number++) {
      const line = toCsvLine([`Name ${number}`, `A "text"\nof ${'many '.repeat(50)}words`, String(number % 5)])
      if (!output.write(line)) await once(output, 'drain')
    }
    output.end()
    await once(output, 'close')

    setFlagsFromString('--expose-gc')
    const collectGarbage: () => void = runInNewContext('gc')
    const heapNow = () => {
      collectGarbage()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const before = heapNow()
    let peak = before
    let count = 0
    let last = ''
    for await (const { source } of readCsv(file)) {
      last = source
      if (++count % (rows / 10) === 0) peak = Math.max(peak, heapNow())
    }
    const megabytes = (peak - before) / 1024 / 1024
    t.diagnostic(`${(output.bytesWritten / 1e6).toFixed(0)} MB read with a heap delta of ${megabytes.toFixed(1)} MB`)
    assert.equal(count, rows)
    assert.equal(last, `big.csv line ${2 * rows}`)
    assert.ok(output.bytesWritten > 2 * mostMegabytes * 1024 ** 2)
    assert.ok(megabytes < mostMegabytes, `${megabytes} MB`)
  })
})

describe('toCsvLine', () => {
  it('quotes what must be quoted, and ends the line', () => {
    assert.equal(
      toCsvLine(['a', 'b c', '', 'x,y', 'say "hi"', 'x\ny', "it's"]),
      `a,b c,,"x,y","say ""hi""","x\ny",it's\r\n`,
    )
  })

  for (const cell of [
    '=1+1',
    '+49 30 123',
    '-x',
    '@sum',
    '\tx',
    '\rx',
    '=',
    '-',
    '-1+1',
    '+5',
    '-1,5',
    '=HYPERLINK("x")',
    ' =x',
    '\n=x',
    '\uFF1Dx',
  ]) {
    it(`prevents a spreadsheet from executing ${JSON.stringify(cell)}`, () => {
      const [[written]] = parse(toCsvLine([cell])) as [[string]]
      assert.equal(written, `'${cell}`)
    })
  }

  for (const cell of ['-4.50', '-1', '0', '4.50', '-1e+21', '-1.5E-7', 'a=b', "'x", ' x']) {
    it(`leaves ${cell} unchanged`, () => assert.equal(toCsvLine([cell]), `${cell}\r\n`))
  }

  it('is read back by any CSV reader, except for the apostrophe', () => {
    const sign = fc.constantFrom(
      '"',
      ',',
      ';',
      '\r',
      '\n',
      '\r\n',
      '\t',
      '=',
      '+',
      '-',
      '@',
      "'",
      ' ',
      'a',
      '1',
      '.',
      'é',
      '🥐',
    )
    const cell = fc.oneof(
      fc.array(sign).map((signs) => signs.join('')),
      fc.string({ unit: 'binary' }),
    )
    const lines = fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { minLength: 1, maxLength: 5 })
    const bare = (text: string) => (/^'(\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n])/.test(text) ? text.slice(1) : text)
    fc.assert(
      fc.property(lines, (rows) => {
        const read = parse(rows.map(toCsvLine).join(''), { relax_column_count: true, record_delimiter: '\r\n' })
        assert.deepEqual(
          read.map((row) => row.map(bare)),
          rows.map((row) => row.map(bare)),
        )
        for (const text of read.flat()) assert.doesNotMatch(text, /^([=+@\t\r]|-(?!\d))/)
      }),
      { numRuns: process.env.PROVE === '1' ? 1000 : 200 },
    )
  })
})
