import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SubmissionNotices } from '../../src/content/model.ts'
import { createWorker } from '../../src/jobs/worker.ts'
import { noticeHandler } from '../../src/mail/notices.ts'
import { deleteObjects } from '../../src/store/content/change-objects.ts'
import { findObject } from '../../src/store/content/objects.ts'
import { deleteSite, updateSite } from '../../src/store/content/sites.ts'
import { createSite, write } from '../helpers/authoring.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { messagesOf } from '../helpers/outbox.ts'
import { goodReview, type Visitors, visitors } from '../helpers/visitors.ts'

const minuteMs = 60_000
const each: SubmissionNotices = { to: 'owner@shop.example', rhythm: 'each' }
const daily: SubmissionNotices = { to: 'owner@shop.example', rhythm: 'daily' }

interface SiteOptions {
  name?: string
  notices?: SubmissionNotices
  shows?: string[]
}

async function withSite(engine: TestEngine, { notices = each }: SiteOptions = {}) {
  const context = await visitors(engine)
  const { group, clock, service } = context
  const newSite = ({ name = 'Corner Bakery', notices: wanted, shows = [] }: SiteOptions) =>
    createSite(
      group.store,
      {
        name,
        domainName: '',
        settings: {
          pages: [{ name: 'Home', slug: 'home', collections: shows.map((collectionId) => ({ collectionId })) }],
        },
        privateSettings: wanted ? { submissionNotices: wanted } : {},
      },
      clock.now,
    )
  return {
    ...context,
    newSite,
    site: await newSite({ notices }),
    /** Advances the clock, runs all due jobs, and returns all notifications, oldest first. */
    async noticesAfter(ms = 0) {
      clock.now += ms
      await service.worker.runDue()
      return (await messagesOf(group)).filter(({ kind }) => kind === 'notice').reverse()
    },
  }
}

async function awaited({ group }: Visitors): Promise<number> {
  return (await group.store.database.read.selectFrom('awaited_notices').selectAll().execute()).length
}

async function waitingJobs({ group }: Visitors): Promise<(number | null)[]> {
  const jobs = group.store.database.read.selectFrom('jobs').select('due_ms').where('kind', '=', 'mail.notice')
  return (await jobs.where('state', '=', 'waiting').execute()).map(({ due_ms }) => due_ms)
}

onBothEngines('a notification to the owner of a site', (engine) => {
  it('reports a submission at once, including private fields', async () => {
    const context = await withSite(engine)
    const { review, noticesAfter, site, clock } = context
    await review({ ...goodReview, email: 'ada@visitor.example' })
    const [notice, ...others] = await noticesAfter()
    assert.equal(others.length, 0)
    assert.deepEqual(
      [notice?.recipient, notice?.replyTo, notice?.subject],
      ['owner@shop.example', null, 'New review – Corner Bakery'],
    )
    assert.match(notice?.messageId ?? '', /^[0-9a-f]{24}@localhost$/)
    const texts = {
      rating: '5',
      title: 'Good bread',
      body: 'Every morning.',
      author: 'Ada',
      email: 'ada@visitor.example',
    }
    assert.deepEqual(notice?.content, {
      siteId: site.id,
      siteName: 'Corner Bakery',
      title: 'New review',
      submissions: [
        {
          collection: 'Reviews',
          createdMs: clock.now,
          waits: false,
          fields: Object.entries(texts).map(([name, text]) => ({ name, text })),
        },
      ],
    })
    assert.equal(await awaited(context), 0)
  })

  it('is sent at least five minutes after the previous one: a flood becomes digests', async () => {
    const context = await withSite(engine)
    const { review, subscribe, noticesAfter } = context
    await review()
    assert.equal((await noticesAfter()).length, 1)
    await review()
    await subscribe({ email: 'ada@visitor.example' })
    assert.equal((await noticesAfter()).length, 1)
    for (let n = 0; n < 23; n += 1) await review({ ...goodReview, title: `Number ${n}` })
    assert.equal((await noticesAfter(5 * minuteMs - 1)).length, 1)
    assert.equal((await waitingJobs(context)).length, 1, 'one job waits, whatever the number of submissions')
    const [, digest, ...others] = await noticesAfter(1)
    assert.equal(others.length, 0)
    assert.equal(digest?.subject, '25 new submissions – Corner Bakery')
    assert.equal(digest?.content.furtherSubmissions, 5)
    const listed = digest?.content.submissions ?? []
    assert.equal(listed.length, 20)
    assert.deepEqual(listed.slice(0, 2).map(({ collection }) => collection), ['Reviews', 'Subscribers']) // biome-ignore format: short
    assert.equal(listed[2]?.fields.find(({ name }) => name === 'title')?.text, 'Number 0')
    assert.equal((await noticesAfter(60 * minuteMs)).length, 2)
    await review()
    assert.equal((await noticesAfter()).length, 3, 'after a rest again at once')
  })

  it('is sent daily at 07:00 UTC if so configured', async () => {
    const { review, noticesAfter } = await withSite(engine, { notices: daily })
    await review()
    assert.equal((await noticesAfter()).length, 0)
    await review()
    assert.equal((await noticesAfter(19 * 60 * minuteMs - 1)).length, 0)
    assert.deepEqual((await noticesAfter(1)).map(({ subject }) => subject), ['2 new submissions – Corner Bakery']) // biome-ignore format: short
    assert.equal((await noticesAfter(24 * 60 * minuteMs)).length, 1)
  })

  it('follows a changed rhythm immediately', async () => {
    const { review, noticesAfter, site, group, clock } = await withSite(engine, { notices: daily })
    await review()
    await write(group.store, clock.now, (writer) =>
      updateSite(writer, site, { privateSettings: { submissionNotices: each } }),
    )
    await review()
    assert.deepEqual((await noticesAfter()).map(({ subject }) => subject), ['2 new submissions – Corner Bakery']) // biome-ignore format: short
    assert.equal((await noticesAfter(24 * 60 * minuteMs)).length, 1)
  })

  it('includes every submission that arrives while it is being composed, or leaves it to the next', async () => {
    const context = await withSite(engine)
    const { review, service, clock, noticesAfter } = context
    await review()
    let sent = 0
    const senderOf = async () => {
      sent += 1
      if (sent === 1) await review({ ...goodReview, title: 'In between' })
      return 'mail@shop.example'
    }
    const { store, logger } = service
    const handlers = [noticeHandler({ senderOf, dailyLimits: service.mail.dailyLimits })]
    const worker = createWorker({ store, handlers, workers: 0, clock: () => clock.now, logger })
    await worker.runDue()
    assert.equal(sent, 2, 'the submission that arrived in between has its own notification')
    const notices = await noticesAfter()
    assert.deepEqual(notices.map(({ subject }) => subject), ['2 new submissions – Corner Bakery']) // biome-ignore format: short
    assert.equal(await awaited(context), 0)
    await review()
    assert.equal((await noticesAfter(5 * minuteMs)).length, 2)
  })

  it('is sent once and in full when it is started twice', async () => {
    const context = await withSite(engine)
    const { review, service, clock, noticesAfter } = context
    await review()
    const { store, logger, mail } = service
    const senderOf = async () => assert.fail('the database is unreachable')
    const failing = noticeHandler({ senderOf, dailyLimits: mail.dailyLimits })
    await createWorker({ store, handlers: [failing], workers: 0, clock: () => clock.now, logger }).runDue()
    assert.equal(await awaited(context), 1)
    await review()
    assert.deepEqual((await noticesAfter(minuteMs)).map(({ subject }) => subject), ['2 new submissions – Corner Bakery']) // biome-ignore format: short
    assert.equal(await awaited(context), 0)
  })

  it('leaves out deleted submissions, and is not sent when none is left', async () => {
    const context = await withSite(engine, { notices: daily })
    const { review, reviews, group, clock, noticesAfter } = context
    const dayMs = 24 * 60 * minuteMs
    async function reviewAndDelete() {
      const { _id } = (await review()).json().data
      await write(group.store, clock.now, async (writer) => {
        const found = await findObject(writer.group, _id)
        assert.ok(found)
        await deleteObjects(writer, [{ containerId: reviews.id, object: found.object }])
      })
    }
    await reviewAndDelete()
    assert.equal((await noticesAfter(dayMs)).length, 0)
    await reviewAndDelete()
    await review()
    assert.deepEqual((await noticesAfter(dayMs)).map(({ subject }) => subject), ['New review – Corner Bakery']) // biome-ignore format: short
  })

  it('is not sent after it was turned off, or the site was deleted, and leaves nothing waiting', async () => {
    for (const end of ['unset', 'delete'] as const) {
      const context = await withSite(engine, { notices: daily })
      const { review, site, group, clock, noticesAfter } = context
      await review()
      await write(group.store, clock.now, async (writer) => {
        if (end === 'unset') await updateSite(writer, site, { privateSettings: {} })
        else await deleteSite(writer, site)
      })
      assert.equal((await noticesAfter(24 * 60 * minuteMs)).length, 0)
      assert.equal(await awaited(context), 0)
      await review()
      assert.deepEqual([await awaited(context), await waitingJobs(context)], [0, []])
    }
  })

  it('goes to the owners of the sites whose pages show the collection, else of all sites', async () => {
    const context = await withSite(engine)
    const { newSite, reviews, review, subscribe, noticesAfter } = context
    const notices = { to: 'second@bücher.example', rhythm: 'each' as const }
    await newSite({ name: 'Second', notices, shows: [reviews.id] })
    await newSite({ name: 'Third' })
    await review()
    assert.deepEqual((await noticesAfter()).map(({ recipient }) => recipient), ['second@xn--bcher-kva.example']) // biome-ignore format: short
    await subscribe({ email: 'ada@visitor.example' })
    const [, ...ofSubscriber] = await noticesAfter(5 * minuteMs)
    assert.deepEqual(ofSubscriber.map(({ subject }) => subject).toSorted(), [
      'New subscriber – Corner Bakery',
      'New subscriber – Second',
    ])
  })

  it('includes submissions awaiting approval, and no repeated subscriber', async () => {
    const context = await visitors(engine, { settings: { moderation: true } })
    const { group, clock, review, subscribe, service } = context
    const site = { name: 'Shop', domainName: '', settings: {}, privateSettings: { submissionNotices: each } }
    await createSite(group.store, site, clock.now)
    await review()
    await subscribe({ email: 'ada@visitor.example' })
    await subscribe({ email: 'ADA@visitor.example' })
    await service.worker.runDue()
    const [{ content } = assert.fail('there is a notice'), ...others] = await messagesOf(group)
    assert.equal(others.length, 0)
    assert.deepEqual(content.submissions?.map(({ waits }) => waits), [true, false]) // biome-ignore format: short
  })

  it('is one per address, however many sites name it', async () => {
    const { newSite, review, noticesAfter } = await withSite(engine)
    for (let n = 0; n < 5; n += 1) await newSite({ name: `Shop ${n}`, notices: { ...each, to: 'Owner@Shop.Example' } })
    await review()
    assert.equal((await noticesAfter()).length, 1)
    assert.equal((await noticesAfter(10 * minuteMs)).length, 1)
  })

  it('counts towards the group’s daily limit, and waits for the next day when that is reached', async () => {
    const context = await withSite(engine)
    const { review, noticesAfter, group, service, clock } = context
    await review()
    const { store, logger, mail } = service
    const usedUp = { senderOf: mail.senderOf, dailyLimits: { free: 0, basic: 0, pro: 0, proplus: 0 } }
    const handlers = [noticeHandler(usedUp)]
    await createWorker({ store, handlers, workers: 0, clock: () => clock.now, logger }).runDue()
    assert.equal((await messagesOf(group)).length, 0)
    assert.equal(await awaited(context), 1)
    const midnightMs = new Date(clock.now).setUTCHours(24, 0, 0, 0)
    assert.deepEqual(await waitingJobs(context), [midnightMs])
    assert.equal((await noticesAfter(midnightMs - clock.now)).length, 1)
    const tallies = await group.store.database.read.selectFrom('tallies').select(['subject', 'count']).execute()
    assert.deepEqual(tallies.filter(({ subject }) => subject === 'mail').map(({ count }) => count), [1]) // biome-ignore format: short
  })
})
