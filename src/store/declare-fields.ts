import type { Container } from '../content/model.ts'
import { retypeMetadata } from '../content/product-metadata.ts'
import type { Schema } from '../content/schema.ts'
import { changeObjects, type PlannedChange } from './change-objects.ts'
import type { ContentWriter } from './changes.ts'
import { updateContainer } from './containers.ts'
import { eachObject } from './each-object.ts'
import type { GroupStore } from './groups.ts'

/** A report is to be read: beyond this many, values are counted and not listed. */
const maxListed = 100
const objectsPerStep = 250

export interface DeclarationReport {
  objects: number
  /** Values that do not fit. They stay with the provider, and come back when the field is declared otherwise. */
  leftOut: { count: number; objects: { objectId: string; field: string }[] }
}

/** What it would do to give the metadata of a provider's products these types. */
export async function reviewDeclaration(
  group: GroupStore,
  container: Container,
  schema: Schema,
): Promise<DeclarationReport> {
  const report: DeclarationReport = { objects: 0, leftOut: { count: 0, objects: [] } }
  for await (const { id: objectId, value } of eachObject(group, container.id)) {
    report.objects += 1
    for (const field of retypeMetadata(container.schema, schema, value).leftOut) {
      report.leftOut.count += 1
      if (report.leftOut.objects.length < maxListed) report.leftOut.objects.push({ objectId, field })
    }
  }
  return report
}

/** Changes the schema of a provider's products, and their values and index with it, in the transaction of the writer. */
export async function declareFields(writer: ContentWriter, before: Container, schema: Schema): Promise<Container> {
  const container = await updateContainer(writer, before, { schema })
  if (container === before) return before
  let planned: PlannedChange[] = []
  const apply = async (): Promise<void> => {
    // Descriptions are the provider's: where one speaks of a file that we do not have, that is no reason to refuse.
    await changeObjects({ ...writer, allowsMissingMedia: true }, container, planned, 'schema changed', before)
    planned = []
  }
  for await (const object of eachObject(writer.group, before.id)) {
    const { value } = retypeMetadata(before.schema, schema, object.value)
    planned.push({ before: object, wanted: { value } })
    if (planned.length === objectsPerStep) await apply()
  }
  await apply()
  return container
}
