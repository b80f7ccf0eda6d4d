import assert from 'node:assert/strict'
import { it } from 'node:test'
import { changeObject } from '../../src/store/content/change-objects.ts'
import { findContainerById } from '../../src/store/content/containers.ts'
import { findObject } from '../../src/store/content/objects.ts'
import { write } from '../helpers/authoring.ts'
import { editingPosts } from '../helpers/editing.ts'
import { onBothEngines } from '../helpers/harness.ts'

const text = { type: 'text' }
const secret = { type: 'text', private: true }
const link = { type: 'reference' }
const schema = {
  title: text,
  secret: { ...secret, unique: true },
  link,
  hidden: { type: 'reference', private: true },
  box: { type: 'object', fields: { title: text, secret, link } },
  rows: { type: 'list', of: { type: 'object', fields: { secret, link } } },
  parts: { type: 'blocks', blocks: { go: { fields: { secret, link } } } },
  inner: { type: 'object', private: true, fields: { title: text, link } },
}

/** A value in which every private text contains the word. */
const valueWith = (title: string, word: string, target?: string) => {
  const inside = { secret: `${word} 1`, ...(target !== undefined && { link: target }) }
  return {
    title,
    secret: `${word} 2 ${title}`,
    ...(target !== undefined && { link: target, hidden: target }),
    box: { title: 'Box', ...inside },
    rows: [inside],
    parts: [{ type: 'go', ...inside }],
    inner: { title: `${word} 3`, ...(target !== undefined && { link: target }) },
  }
}

/** What a caller reads in an answer, cursors decoded. */
function readable(body: string): string {
  const { nextCursor } = JSON.parse(body).data ?? {}
  return body + (nextCursor ? Buffer.from(nextCursor, 'base64url').toString() : '')
}

onBothEngines('private values, at any depth, live or in working copies,', (engine) => {
  it('are in no answer to the API key: lists, cursors, expansions, searches, previews or refusals', async () => {
    const { posts, post, does, group, clock } = await editingPosts(engine, schema)
    const target = await post(valueWith('Target', 'canary'))
    const made = await post(valueWith('Post', 'canary', target._id))
    await does('PUT', `/objects/${made._id}/draft`, { objectValue: valueWith('Copy', 'canary', target._id) })
    await does('PUT', `/objects/${target._id}/draft`, { objectValue: valueWith('Target copy', 'canary') })
    const ofSite = `&preview=${(await does('POST', '/previews/site', {})).token}`
    const ofObject = (await does('POST', '/previews', { objectId: made._id })).token
    const references = ['link', 'box.link', 'rows.link', 'parts.go.link']
    const parameters = [
      '', '&fields=title', '&fields=box,rows,parts', `&expand=${references}`, '&expand=link.link,rows.link.parts.go.link&fields=rows',
      '&after=&limit=1', '&after=&limit=1&sort=title:asc', '&after=&limit=1&sort=updatedAt:desc', '&after=&limit=1&search=box&sort=relevance',
      '&search=canary', '&search=canary&sort=relevance',
      ...['sort=secret:asc', 'sort=box.secret:asc', 'filters[secret]=canary', 'filters[secret][gte]=a', 'filters[secret][exists]=true', 'filters[secret][ne]=x', 'filters[hidden][exists]=true',
        'fields=secret', 'fields=inner', 'fields=box.secret', 'expand=hidden', 'expand=inner.link', 'expand=link.hidden', 'filters[inner][exists]=true'].map((each) => `&${each}`),
    ] // biome-ignore format: a table
    const list = `/tenant/collectionObjects?collectionId=${posts._id}`
    for (const path of [
      ...parameters.flatMap((each) => [list + each, list + each + ofSite]),
      `/tenant/preview?token=${ofObject}`,
      `/tenant/preview?token=${ofObject}&expand=${references}`,
    ]) {
      const answer = await group.get(path)
      assert.ok([200, 400].includes(answer.statusCode), `${path} ${answer.body}`)
      const body = readable(answer.body).replaceAll(/"search":"canary"/g, '')
      assert.ok(!body.includes('canary'), `${path}: ${body}`)
      assert.doesNotMatch(body, /"(secret|hidden|inner)":/, path)
      if (path.includes('search=canary')) assert.equal(answer.json().data.totalCount, 0)
    }
    // Names are no secret, but that a private field is there and cannot be used is not told apart from one that is not there.
    for (const name of ['secret', 'hidden', 'inner']) {
      const [refused, unknown] = await Promise.all([name, 'nothing'].map((each) => group.get(`${list}&fields=${each}`)))
      assert.equal(refused?.statusCode, 400)
      assert.equal(refused?.body.replaceAll(name, 'nothing'), unknown?.body)
    }
    // The management API, which shows them to the members of the group, refuses the key.
    for (const path of [`/objects/${made._id}/draft`, `/objects/${made._id}/draft/diff`, `/objects/${target._id}/references`, '/events', '/drafts'])
      assert.equal((await group.get(`/manage/groups/${group.groupId}${path}`)).statusCode, 401, path) // biome-ignore format: short

    // What can no longer be published, since another object has its unique value by then.
    const dueMs = clock.now + 60_000
    await does('POST', `/objects/${made._id}/draft/schedule`, { publishAt: new Date(dueMs).toISOString() })
    await write(group.store, clock.now, async (writer) => {
      const found = await findObject(writer.group, target._id)
      const container = found && (await findContainerById(writer.group, found.containerId))
      assert.ok(found && container)
      await changeObject(writer, container, found.object, { value: valueWith('Copy', 'canary') }, 'updated')
    })
    clock.now = dueMs
    await group.get(list)
    const events = await does('GET', '/events')
    assert.ok(events.items.some(({ type }: { type: string }) => type === 'draft.failed'))
    assert.ok(!JSON.stringify(events).includes('canary'), JSON.stringify(events))
    const referrers = await does('GET', `/objects/${target._id}/references`)
    assert.ok(referrers.totalCount > 0 && !JSON.stringify(referrers).includes('canary'))
  })
})
