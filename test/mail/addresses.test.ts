import assert from 'node:assert/strict'
import { it } from 'node:test'
import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { type MailServer, mailServer, type TakenMessage } from '../helpers/mail-server.ts'
import {
  contactBody,
  contactPath,
  countTraces,
  type Outbox,
  openOutbox,
  orderBody,
  orderPath,
} from '../helpers/outbox.ts'

const plenty = 'free=1000000,basic=1,pro=1,proplus=1'

interface Post extends Outbox {
  server: MailServer
  /** The commands verbatim: the server's parsed address shows the domain in a different spelling. */
  commands: string[]
}

async function openPost(engine: TestEngine): Promise<Post> {
  const commands: string[] = []
  const ignore = () => {}
  const note = (_about: unknown, who: string, line: string) => void (who === 'C:' && commands.push(line))
  const logger = { level: ignore, trace: ignore, debug: note, info: ignore, warn: ignore, error: ignore, fatal: ignore }
  const server = await mailServer({ logger })
  const env = { SMTP_URL: server.url, MAIL_FROM: 'shop@sender.example', MAIL_DAILY_LIMITS: plenty }
  return { ...(await openOutbox(engine, { env })), server, commands }
}

/** The unfolded header fields by name. A repeated name means an injected field. */
function headersOf({ raw }: TakenMessage): Map<string, string> {
  const [head = ''] = raw.toString('latin1').split('\r\n\r\n', 1)
  const headers = new Map<string, string>()
  for (const line of head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    const [, name = '', value = ''] = /^([!-9;-~]+): ?(.*)$/.exec(line) ?? assert.fail(`no header: ${line}`)
    assert.ok(!headers.has(name), `${name} occurs twice`)
    assert.doesNotMatch(value, /[\r\n\0]/)
    headers.set(name, value)
  }
  return headers
}

const expectedHeaders = [
  'Content-Type', 'Date', 'From', 'MIME-Version', 'Message-ID', 'Subject', 'To',
] // biome-ignore format: one line reads better
const possibleHeaders = [
  ...expectedHeaders, 'Auto-Submitted', 'Content-Transfer-Encoding', 'Reply-To', 'X-Auto-Response-Suppress',
] // biome-ignore format: one line reads better

const bare = (address: string | undefined): string | undefined => address?.replace(/^<(.*)>$/, '$1')

/** The expected form of an address, computed differently from the service. */
function asSent(address: unknown): string {
  assert.ok(typeof address === 'string')
  const at = address.lastIndexOf('@')
  return `${address.slice(0, at)}@${domainToASCII(address.slice(at + 1))}`
}

/** Asserts that the message went to exactly one address, and that its header agrees. */
function assertSentTo(taken: TakenMessage, to: unknown, replyTo: unknown): void {
  assert.equal(taken.sender, 'shop@sender.example')
  const headers = headersOf(taken)
  const names = [...headers.keys()]
  assert.deepEqual(
    expectedHeaders.filter((name) => !names.includes(name)),
    [],
  )
  assert.deepEqual(
    names.filter((name) => !possibleHeaders.includes(name)),
    [],
  )
  assert.equal(bare(headers.get('To')), asSent(to))
  assert.equal(bare(headers.get('Reply-To')), replyTo === undefined ? undefined : asSent(replyTo))
}

/** Posts it and delivers due messages. Returns whether it was accepted. */
async function postAndDeliver(
  post: Post,
  path: string,
  body: { to?: unknown; customerEmail?: unknown },
): Promise<boolean> {
  const before = await countTraces(post.group)
  post.server.taken.length = 0
  post.commands.length = 0
  const answer = await post.post(path, body)
  await post.service.worker.runDue()
  const { taken } = post.server
  const recipients = post.commands.filter((command) => /^\s*rcpt/i.test(command))
  if (answer.statusCode === 400) {
    assert.deepEqual(await countTraces(post.group), before)
    assert.deepEqual([taken, recipients], [[], []])
    return false
  }
  assert.equal(answer.statusCode, 201, answer.body)
  assert.deepEqual(recipients, [`RCPT TO:<${asSent(body.to)}>`])
  assert.equal(taken.length, 1)
  const [message = assert.fail()] = taken
  const isReply = path === contactPath || String(body.customerEmail).toLowerCase() !== String(body.to).toLowerCase()
  assertSentTo(message, body.to, isReply ? body.customerEmail : undefined)
  return true
}

const evil = 'evil@attacker.example'

/** Addresses that some mail software delivered to another recipient. */
const attacks: [name: string, to: unknown][] = [
  ['a quoted local part that holds another address (GHSA-mm7p-fcc7-pg87)', `"${evil} x"@bakery.example`],
  ['the same with its quotes escaped', `"\\"${evil}\\""@bakery.example`],
  ['a line break and a header', `owner@bakery.example\r\nBcc: ${evil}`],
  ['a line feed alone and a header', `owner@bakery.example\nBcc: ${evil}`],
  ['a carriage return alone and a command', `owner@bakery.example\rRCPT TO:<${evil}>`],
  ['the end of a command and a further one', `owner@bakery.example>\r\nRCPT TO:<${evil}`],
  ['two addresses with a comma', `owner@bakery.example,${evil}`],
  ['two addresses with a semicolon', `owner@bakery.example;${evil}`],
  ['two addresses with a space', `owner@bakery.example ${evil}`],
  ['two addresses in brackets', `<owner@bakery.example>,<${evil}>`],
  ['a name with an address', `owner@bakery.example <${evil}>`],
  ['a quoted name with an address', `"owner@bakery.example" <${evil}>`],
  ['a group of addresses', `Friends: owner@bakery.example, ${evil};`],
  ['a comment', `${evil}(owner@bakery.example)`],
  ['a comment in front', `(${evil})owner@bakery.example`],
  ['a source route', '@attacker.example:owner@bakery.example'],
  ['two @', 'owner@bakery.example@attacker.example'],
  ['an escaped @', 'owner\\@bakery.example@attacker.example'],
  ['a full-width @', 'owner＠attacker.example@bakery.example'],
  ['an encoded word', '=?utf-8?q?evil=40attacker.example=3E=20?=@bakery.example'],
  ['an encoded word in base64', '=?utf-8?b?ZXZpbEBhdHRhY2tlci5leGFtcGxl?=@bakery.example'],
  ['a parameter of the command', 'owner@bakery.example SIZE=1'],
  ['a parameter behind a bracket', 'owner@bakery.example> NOTIFY=NEVER'],
  ['NUL', 'owner@bakery.example\0@attacker.example'],
  ['an overlong UTF-8 line break, as it is written in addresses', 'owner@bakery.example%0d%0aBcc:evil'],
  ['letters whose low byte is a line break', 'owner@bakery.example\u560a\u560dBcc: x'],
  ['a line separator', `owner@bakery.example\u2028Bcc: ${evil}`],
  ['a next-line character', `owner@bakery.example\u0085Bcc: ${evil}`],
  ['text that is turned around', 'owner\u202E@bakery.example'],
  ['an invisible character', 'owner@bakery\u200B.example'],
  ['an ideographic full stop', 'owner@attacker。example'],
  ['half a pair', 'owner\uD83E@bakery.example'],
  ['the address of a machine', 'owner@[127.0.0.1]'],
  ['the address of a machine without brackets', 'owner@127.0.0.1'],
  ['the same in other digits', 'owner@0x7f.1'],
  ['a dot at the end', 'owner@bakery.example.'],
  ['a port', 'owner@bakery.example:2525'],
  ['a path', 'owner@bakery.example/x'],
  ['a host without a domain', 'owner@bakery'],
  ['a name that is too long', `${'a'.repeat(65)}@bakery.example`],
  ['an address that is too long', `owner@${'a.'.repeat(124)}example`],
  ['one that is too long in ASCII', `owner@${'ü.'.repeat(40)}example`],
  ['a list', ['owner@bakery.example', evil]],
  ['a list of one', ['owner@bakery.example']],
  ['an object', { name: '', address: 'owner@bakery.example' }],
  ['an object that becomes a text', { toString: evil, length: 1, 0: evil }],
  ['a number', 5],
  ['null', null],
]

const hostilePiece = fc.constantFrom(
  '\r', '\n', '\r\n', '\0', '\t', ' ', ',', ';', ':', '<', '>', '"', "'", '(', ')', '[', ']', '\\', '/', '@', '.', '..', '%',
  '!', '%0d%0a', '=?utf-8?q?', '?=', '=40', '\r\nBcc: evil@attacker.example', '\r\n\r\n', '\nX-Evil: 1', evil, `,${evil}`,
  `<${evil}>`, '@attacker.example:', 'evil%attacker.example', 'attacker.example!evil', 'localhost', 'xn--', '-', 'ü', 'ß', 'ſ',
  'K', 'а', '＠', '。', '\u202E', '\u2066', '\u200B', '\u200D', '\uFEFF', '\u00AD', '\u2028', '\u0085', '\u007F', '🥐', '\uD83E',
  '\u560a', 'x'.repeat(70), 'y.'.repeat(130),
) // biome-ignore format: one list

const validAddress = fc.oneof(
  fc.emailAddress(),
  fc.emailAddress().map((address) => address.replace(/[%!|`]/g, 'x')),
  fc.constantFrom(
    'owner@bakery.example', 'Owner@BAKERY.Example', 'info@bücher.example', 'post@пример.example', 'a@例え.テスト',
    'x@xn--bcher-kva.example', 'first.last+tag@mail.bakery.example', "o'neil@bakery.example", 'root@localhost',
    'evil%attacker.example@bakery.example', 'attacker.example!evil@bakery.example', 'straße@bakery.example', 'a@straße.example',
  ), // biome-ignore format: one list
)

/** A text with random edits. */
const mutated = (text: fc.Arbitrary<string>) =>
  fc
    .tuple(text, fc.array(fc.tuple(fc.nat(), fc.nat(3), hostilePiece), { minLength: 1, maxLength: 3 }))
    .map(([start, edits]) =>
      edits.reduce((current, [position, cut, piece]) => {
        const at = position % (current.length + 1)
        return current.slice(0, at) + piece + current.slice(at + cut)
      }, start),
    )

const hostileAddress = fc.oneof(
  { weight: 8, arbitrary: validAddress },
  { weight: 5, arbitrary: mutated(validAddress) },
  { weight: 1, arbitrary: fc.array(hostilePiece, { maxLength: 6 }).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 1, arbitrary: fc.tuple(validAddress, hostilePiece, validAddress).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.constantFrom(...attacks.map(([, to]) => to)) },
)

const harmlessName = fc.constantFrom(
  'Ada',
  'Żaneta "the baker" <ada@x.example>',
  'Ада, Bcc: x@y.example',
  '=?utf-8?q?=0ABcc?=',
  '🥐',
)
const hostileText = fc.oneof(
  { weight: 3, arbitrary: harmlessName },
  { weight: 1, arbitrary: mutated(harmlessName) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1 }) },
)
const maybeAddress = fc.oneof(
  { weight: 3, arbitrary: fc.record({}) },
  { weight: 2, arbitrary: fc.record({ customerEmail: validAddress }) },
  { weight: 1, arbitrary: fc.record({ customerEmail: hostileAddress }) },
)

const numRuns = process.env.PROVE === '1' ? 300 : 60

onBothEnginesInProve('the recipient of an e-mail', (engine) => {
  it('cannot be an address that other parsers have misread', async (t) => {
    const post = await openPost(engine)
    const requests = { [contactPath]: contactBody, [orderPath]: orderBody }
    for (const [name, to] of attacks) {
      await t.test(name, async () => {
        for (const [path, body] of Object.entries(requests)) {
          assert.equal(await postAndDeliver(post, path, { ...body, to }), false)
          assert.equal(await postAndDeliver(post, path, { ...body, customerEmail: to }), false)
        }
      })
    }
  })

  async function checkProperty(
    path: string,
    bodies: fc.Arbitrary<{ to?: unknown; customerEmail?: unknown }>,
  ): Promise<void> {
    const post = await openPost(engine)
    const outcomes = { accepted: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        outcomes[(await postAndDeliver(post, path, body)) ? 'accepted' : 'refused'] += 1
      }),
      { numRuns },
    )
    assert.ok(Math.min(outcomes.accepted, outcomes.refused) > 0, JSON.stringify(outcomes))
  }

  it('is the only RCPT TO of a contact e-mail, or the request is refused, for any input', async () => {
    const texts = fc.record({ name: hostileText, siteName: hostileText, to: hostileAddress })
    await checkProperty(
      contactPath,
      fc.tuple(texts, maybeAddress).map((parts) => Object.assign({}, contactBody, ...parts)),
    )
  })

  it('is the only RCPT TO of an order confirmation, or the request is refused, for any input', async () => {
    const texts = fc.record({
      title: hostileText,
      subtitle: hostileText,
      whiteBoxText: hostileText,
      signature: hostileText,
    })
    const order = fc.record({ htmlInfo: texts, to: hostileAddress })
    await checkProperty(
      orderPath,
      fc.tuple(order, maybeAddress).map((parts) => Object.assign({}, ...parts)),
    )
  })
})
