/** What a group has booked; sets its rate limit. */
export const tiers = ['free', 'basic', 'pro', 'proplus'] as const
export type Tier = (typeof tiers)[number]

export function isTier(text: string): text is Tier {
  return (tiers as readonly string[]).includes(text)
}
