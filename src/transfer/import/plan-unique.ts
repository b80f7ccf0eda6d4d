import { uniqueFieldsOf, uniqueValuesOf } from '../../content/unique.ts'
import { findHolders } from '../../store/content/unique.ts'
import type { GroupStore } from '../../store/store.ts'
import type { ProblemList } from './problem-list.ts'
import type { ObjectsStep } from './step.ts'

/** Finds unique values in an export that objects missing in it have here. */
export function createUniquePlanner(group: GroupStore, problems: ProblemList) {
  let imported = new Set<string>()
  let taken: { location: string; field: string; holder: string }[] = []
  return {
    async plan({ container, objects }: ObjectsStep): Promise<void> {
      const { schema } = container
      for (const [field] of uniqueFieldsOf(schema)) {
        const claims = new Map(
          objects.flatMap((object) => {
            const found = uniqueValuesOf(schema, object.value).find((unique) => unique.field === field)
            return found ? [[found.key, object] as const] : []
          }),
        )
        for (const { id: holder, key } of await findHolders(group, container, field, [...claims.keys()])) {
          const object = claims.get(key)
          if (object && object.id !== holder) taken.push({ location: object.location, field, holder })
        }
        for (const { id } of objects) imported.add(id)
      }
    },
    /** At the end of a container: an object that the export changes may give up its value. */
    end(): void {
      for (const { location, field, holder } of taken)
        if (!imported.has(holder))
          problems.add(
            location,
            `objectValue.${field} must be unique, and the object ${holder}, which is not in the export, has the same value here`,
          )
      imported = new Set()
      taken = []
    },
  }
}
