import assert from 'node:assert/strict'
import { toIso } from '../../src/content/moments.ts'
import { readRevision } from '../../src/store/content/revisions.ts'
import { findGroupById } from '../../src/store/control/groups.ts'
import { fileForm, type Method } from '../helpers/manage.ts'
import { plainPng } from '../helpers/pictures.ts'
import { callOf, readWorld } from '../helpers/verb-steps.ts'
import { goodReview, submissionPath } from '../helpers/visitors.ts'
import type { Managed } from './cluster.ts'
import { anyKeyOf, nameOf, note, type ProcessIndex, type Scene, sideOf, slotOf } from './scene.ts'
import type { Write } from './script.ts'
import type { Side } from './side.ts'

/**
 * From its acknowledgement on, a write must be visible in the process that acknowledged it. A write without a change does
 * not update that process, so it may still be unaware of earlier writes of others.
 */
async function noteChange(scene: Scene, at: ProcessIndex, side: Side, what: string, answer: Managed): Promise<void> {
  const { figures, cluster, trace } = scene
  const { status, body } = answer
  note(scene, `${nameOf(scene, at)}, group of key ${anyKeyOf(scene, side)}: ${what} → ${status} ${body.slice(0, 120)}`)
  assert.ok(status < 500, trace.join('\n'))
  if (status >= 400) {
    figures.refusedWrites += 1
    return
  }
  figures.writes += 1
  side.content.write(undefined, cluster.clock.now)
  const revision = await readRevision(side.store)
  if (at !== 2 && revision !== side.revision) side.own[at] = side.content.present()
  side.revision = revision
}

/** A call below the path of a group. */
async function change(scene: Scene, at: ProcessIndex, side: Side, method: Method, path: string, body?: object) {
  const { manage, instances } = scene.cluster
  const target = at === 2 ? 'elsewhere' : instances[at]
  const answer = await manage(target, method, `/manage/groups/${side.groupId}${path}`, body)
  await noteChange(scene, at, side, `${method} ${path} ${JSON.stringify(body) ?? ''}`, answer)
  return answer
}

/** Records a change of access to the group. */
async function noteControl({ cluster }: Scene, side: Side, revoked?: string): Promise<void> {
  const { tier, frozen } = await findGroupById(cluster.reference.service.store, side.groupId)
  const before = side.control.at(side.control.present())
  if (tier === before.tier && frozen === before.frozen && revoked === undefined) return
  const allRevoked = revoked === undefined ? before.revoked : new Set([...before.revoked, revoked])
  side.control.write({ tier, frozen, revoked: allRevoked }, cluster.clock.now)
}

type WriteOf<Kind extends Write['kind']> = Extract<Write, { kind: Kind }>

/** Any verb of the management API. */
export async function callVerb(scene: Scene, { at, step }: WriteOf<'verb'>): Promise<Side> {
  const side = sideOf(scene, step.who)
  await change(scene, at, side, ...callOf(step, await readWorld(side.store), scene.cluster.clock.now))
  await noteControl(scene, side)
  return side
}

async function schedule(scene: Scene, { at, who, object, afterMs }: WriteOf<'schedule'>): Promise<Side> {
  const side = sideOf(scene, who)
  const { objects } = await readWorld(side.store)
  const { id } = objects[object % objects.length] ?? { id: 'none' }
  const publishDate = toIso(scene.cluster.clock.now + afterMs)
  await change(scene, at, side, 'POST', `/objects/${id}/schedule`, { publishDate })
  return side
}

async function submit(scene: Scene, { at, who, isModerated, rating }: WriteOf<'submit'>): Promise<Side> {
  const side = sideOf(scene, who)
  const { slot } = slotOf(scene, anyKeyOf(scene, side))
  const collectionId = isModerated ? side.ids.heldId : side.ids.reviewsId
  const answer = await scene.cluster.instances[at].send(submissionPath, {
    method: 'POST',
    headers: { authorization: slot.key },
    body: { collectionId, type: 'createReview', objectValue: { ...goodReview, rating } },
  })
  await noteChange(scene, at, side, `POST ${submissionPath}`, { status: answer.status, body: answer.body.toString() })
  return side
}

async function replaceFile(scene: Scene, { at, who, file, size }: WriteOf<'replace'>): Promise<Side> {
  const side = sideOf(scene, who)
  const key = `${side.groupId}/${file === 0 ? 'cover.png' : 'logo.png'}`
  const { read } = side.store.database
  const { id } = await read.selectFrom('media').select('id').where('key', '=', key).executeTakeFirstOrThrow()
  await change(scene, at, side, 'PUT', `/media/${id}/file`, fileForm('other.png', plainPng(size, size)))
  return side
}

/** Jobs, such as deriving the sizes of a new picture, change answers too. */
async function runJobs(scene: Scene, { at, who }: WriteOf<'jobs'>): Promise<Side> {
  await scene.cluster.instances[at].runJobs()
  for (const side of scene.sides) await noteChange(scene, at, side, 'jobs', { status: 200, body: '' })
  return sideOf(scene, who)
}

async function renewKey(scene: Scene, { at, key }: WriteOf<'renew key'>): Promise<Side> {
  const { side, slot } = slotOf(scene, key)
  const { data } = JSON.parse((await change(scene, at, side, 'POST', '/keys', {})).body)
  await change(scene, at, side, 'POST', `/keys/${slot.id}/revoke`)
  await noteControl(scene, side, slot.key)
  Object.assign(slot, { id: data._id, key: data.key, former: slot.key })
  return side
}

/** Executes the write, records what must be visible from now on, and returns the side it concerned. */
export function doWrite(scene: Scene, write: Write): Promise<Side> {
  switch (write.kind) {
    case 'verb':
      return callVerb(scene, write)
    case 'schedule':
      return schedule(scene, write)
    case 'submit':
      return submit(scene, write)
    case 'replace':
      return replaceFile(scene, write)
    case 'jobs':
      return runJobs(scene, write)
    case 'renew key':
      return renewKey(scene, write)
  }
}
