import type { Container } from '../../src/content/model.ts'
import { changeObject } from '../../src/store/content/change-objects.ts'
import type { ContentWriter } from '../../src/store/content/changes.ts'
import { findCollection } from '../../src/store/content/containers.ts'
import { findObject } from '../../src/store/content/objects.ts'
import { publishWorkingCopy, scheduleWorkingCopy } from '../../src/store/content/publish-working-copies.ts'
import { deleteWorkingCopy, findWorkingCopy, saveWorkingCopy } from '../../src/store/content/working-copies.ts'
import { openStore } from '../../src/store/open.ts'
import { openGroup } from '../../src/store/store.ts'
import { createObjects, write } from './authoring.ts'
import { laterMs, loggedValue, type Step, savedText, soonMs, stepsOf } from './crash-plan.ts'

/**
 * Writes batches of ten objects, and then takes the steps planned for each, until it is killed. Prints a line for each
 * object that is acknowledged, with its number, its id and the number of steps.
 */
const { dataDir, databaseUrl, database, groupId, collectionId, round } = JSON.parse(process.argv[2] ?? '')
const store = await openStore({ dataDir, databaseUrl, clock: Date.now, onConnectionError: () => {} })
const group = await openGroup(store, { database, groupID: groupId })
const found = await findCollection(group, collectionId)
if (!found) throw new Error('The collection is gone.')
const collection: Container = found

async function take(writer: ContentWriter, id: string, step: Step, text: string): Promise<void> {
  const object = (await findObject(writer.group, id))?.object
  if (!object) throw new Error('The object is gone.')
  const subject = { id, containerId: collection.id, value: object.value, version: object.version }
  const copy = await findWorkingCopy(writer.group, id)
  if (step === 'archive soon') {
    await changeObject(writer, collection, object, { archiveMs: writer.nowMs + soonMs }, 'updated')
  } else if (step === 'save') {
    const { n, batch, card } = object.value
    const { other } = card as { other?: string }
    await saveWorkingCopy(writer, subject, copy, loggedValue(n as number, batch as string, text, other), [])
  } else if (!copy) throw new Error('The working copy is gone.')
  else if (step === 'publish') await publishWorkingCopy(writer, collection, object, copy, {})
  else if (step === 'discard') await deleteWorkingCopy(writer, copy)
  else {
    const dueMs = step === 'schedule soon' ? writer.nowMs + soonMs : laterMs
    await scheduleWorkingCopy(writer, collection, object, copy, { dueMs })
  }
}

const acknowledge = (lines: readonly string[]) => process.stdout.write(lines.map((line) => `${line}\n`).join(''))

let target: string | undefined
for (let batch = 0; ; batch += 1) {
  const numbers = Array.from({ length: 10 }, (_, position) => round * 1_000_000 + batch * 10 + position)
  const values = numbers.map((n) => ({ value: loggedValue(n, `${round}.${batch}`, 'created', target) }))
  const objects = await createObjects(group, collection, values, Date.now())
  acknowledge(objects.map(({ id, value }) => `${value.n} ${id} 0`))
  target = objects[0]?.id
  for (const { id, value } of objects)
    for (const [position, step] of stepsOf(value.n as number).entries()) {
      await write(group, Date.now(), (writer) => take(writer, id, step, savedText(position)))
      acknowledge([`${value.n} ${id} ${position + 1}`])
    }
}
