/** Roles in a group; each includes the ones before it. */
export const groupRoles = ['viewer', 'editor', 'owner'] as const
export type GroupRole = (typeof groupRoles)[number]

export const isGroupRole = (text: string): text is GroupRole => (groupRoles as readonly string[]).includes(text)

export const reaches = (role: GroupRole, needed: GroupRole): boolean =>
  groupRoles.indexOf(role) >= groupRoles.indexOf(needed)

export const lesserRole = (one: GroupRole, other: GroupRole): GroupRole => (reaches(one, other) ? other : one)
