/** What a person may do in a group, each including the ones before it. */
export const groupRoles = ['viewer', 'editor', 'owner'] as const
export type GroupRole = (typeof groupRoles)[number]

export const isGroupRole = (text: string): text is GroupRole => (groupRoles as readonly string[]).includes(text)

export function reaches(role: GroupRole, needed: GroupRole): boolean {
  return groupRoles.indexOf(role) >= groupRoles.indexOf(needed)
}

/** The smaller of two. */
export function lesserRole(one: GroupRole, other: GroupRole): GroupRole {
  return reaches(one, other) ? other : one
}
