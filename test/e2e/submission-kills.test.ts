import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MessageContent } from '../../src/content/mail.ts'
import { createSite } from '../helpers/authoring.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import { type ServerProcess, startServer } from '../helpers/process.ts'
import { goodReview, submissionPath, type Visitors, visitors } from '../helpers/visitors.ts'

/** `npm run prove -- submissions` runs 50 kills, with 2,000 acknowledged requests before each. */
const kills = Number(process.env.SUBMISSION_KILLS ?? 2)
const perRound = Number(process.env.SUBMISSIONS_PER_ROUND ?? 60)
const senders = 8
const roundTimeoutMs = 600_000

const unlimited = 'free=999999999,basic=1,pro=1,proplus=1'
const rate = '999999/999999'
const limits = {
  RATE_LIMITS: `anonymous=${rate},free=${rate},basic=${rate},pro=${rate},proplus=${rate}`,
  SUBMISSION_HOURLY_LIMITS: unlimited,
  MAIL_DAILY_LIMITS: unlimited,
}

/** A visitor's request: every second one is an e-mail, and half of each kind have an Idempotency-Key. */
interface VisitorRequest {
  n: number
  path: string
  body: object
  key: string | undefined
}

/** All requests, and their outcomes as seen by the visitors. */
interface Visits {
  next(): VisitorRequest
  acknowledged: Set<number>
  /** Requests without an answer: retried if they have a key. */
  unanswered: VisitorRequest[]
  sent: number
}

function startVisits({ reviews }: Visitors): Visits {
  const mailPath = '/tenant/sendContactEmail'
  const mail = { name: 'Ada', to: 'owner@shop.example', siteName: 'Shop', htmlInfo: { title: 'A question' } }
  const review = { collectionId: reviews.id, type: 'createReview' }
  const visits: Visits = {
    sent: 0,
    acknowledged: new Set(),
    unanswered: [],
    next() {
      const asksAgain = visits.unanswered.findIndex(({ key }) => key !== undefined)
      const [again] = asksAgain < 0 ? [] : visits.unanswered.splice(asksAgain, 1)
      if (again) return again
      const n = visits.sent++
      const key = n % 4 < 2 ? `request ${n}` : undefined
      return n % 2 === 0
        ? { n, key, path: submissionPath, body: { ...review, objectValue: { ...goodReview, title: `${n}` } } }
        : { n, key, path: mailPath, body: { ...mail, message: `${n}` } }
    },
  }
  return visits
}

/** Whether it was answered, which must be a success. */
async function deliver({ baseUrl, output }: ServerProcess, apiKey: string, { path, body, key }: VisitorRequest) {
  const headers = { authorization: apiKey, 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
  let answer: { status: number; text: string }
  try {
    const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    answer = { status: response.status, text: await response.text() }
  } catch {
    return false
  }
  assert.equal(answer.status, 201, `${answer.text}\n${output().slice(-5000)}`)
  return true
}

/** Sends one request after another until the server is gone or all are sent. */
async function send(server: ServerProcess, apiKey: string, visits: Visits, goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    const request = visits.next()
    if (await deliver(server, apiKey, request)) visits.acknowledged.add(request.n)
    else return void visits.unanswered.push(request)
  }
}

/** The number of occurrences of each number. */
function countByNumber(texts: readonly unknown[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const text of texts) counts.set(Number(text), (counts.get(Number(text)) ?? 0) + 1)
  return counts
}

async function everythingStored({ group }: Visitors) {
  const { read } = group.store.database
  const objects = await read.selectFrom('objects').select('value').execute()
  const rows = await read.selectFrom('messages').select(['kind', 'state', 'content']).execute()
  const messages = rows.map(({ content, ...row }) => ({ ...row, content: JSON.parse(content) as MessageContent }))
  const contacts = messages.filter(({ kind }) => kind === 'contact')
  const notices = messages.filter(({ kind }) => kind === 'notice')
  return { objects: objects.map(({ value }) => JSON.parse(value)), messages, contacts, notices }
}

onBothEnginesInProve('kill -9 of a server that accepts submissions and e-mails', (engine) => {
  it('loses nothing acknowledged, and stores and delivers everything once', async (context) => {
    const created = await visitors(engine, { env: limits })
    const { group, clock, config, service } = created
    clock.now = Date.now() // like the real server's
    const submissionNotices = { to: 'owner@shop.example', rhythm: 'each' as const }
    const site = { name: 'Shop', domainName: '', settings: {}, privateSettings: { submissionNotices } }
    await createSite(group.store, site, clock.now)
    const env = { DATA_DIR: config.dataDir, DATABASE_URL: config.databaseUrl ?? '', ...limits }
    const visits = startVisits(created)
    const { acknowledged } = visits
    const sendAll = (server: ServerProcess, goesOn: () => boolean) =>
      Promise.all(Array.from({ length: senders }, () => send(server, group.key, visits, goesOn)))

    for (let round = 0; round < kills; round += 1) {
      const server = await startServer(env)
      const wanted = acknowledged.size + perRound
      const sending = sendAll(server, () => true)
      const deadline = Date.now() + roundTimeoutMs
      while (acknowledged.size < wanted && Date.now() < deadline) await Promise.race([sleep(5), sending])
      await sleep((round * 37) % 101) // at a different point each time
      server.child.kill('SIGKILL')
      await once(server.child, 'close')
      await sending
      assert.ok(acknowledged.size >= wanted, server.output())
    }
    const last = await startServer(env)
    await sendAll(last, () => visits.unanswered.some(({ key }) => key !== undefined))
    await last.stop()

    clock.now = Date.now() + 600_000 // every lease of a killed process has expired
    await service.worker.runDue()
    const { objects, messages, contacts, notices } = await everythingStored(created)
    const counts = [
      countByNumber(objects.map(({ title }) => title)),
      countByNumber(contacts.map(({ content }) => content.visitor?.message)),
    ]
    const isStored = (n: number) => counts[n % 2]?.get(n) === 1
    assert.deepEqual([...acknowledged].filter((n) => !isStored(n)), [], 'acknowledged writes are stored once') // biome-ignore format: short
    const unanswered = visits.unanswered.map(({ n }) => n)
    assert.equal(acknowledged.size + unanswered.length, visits.sent, 'every request is accounted for')
    const total = [...acknowledged, ...unanswered].filter(isStored).length
    assert.equal(objects.length + contacts.length, total, 'nothing is duplicated or unexpected')

    assert.deepEqual([...new Set(messages.map(({ state }) => state))], ['sent'])
    const files = await readdir(join(config.dataDir, 'mailbox', group.group.id))
    assert.equal(files.filter((name) => name.endsWith('.eml')).length, messages.length, 'each e-mail is one file')
    const reported = notices.map(
      ({ content }) => (content.submissions?.length ?? 0) + (content.furtherSubmissions ?? 0),
    )
    assert.equal(reported.reduce((sum, count) => sum + count, 0), objects.length, 'each was reported to the owner once') // biome-ignore format: short
    context.diagnostic(
      `${engine}: ${kills} kills, ${acknowledged.size} acknowledged, ${unanswered.length} unanswered without a key of ` +
        `which ${unanswered.filter(isStored).length} are there; ${objects.length} submissions, ${contacts.length} e-mails, ` +
        `${notices.length} notices, none lost`,
    )
  })
})
