/** A group's tier determines its rate limit, quotas and daily limits. */
export const tiers = ['free', 'basic', 'pro', 'proplus'] as const
export type Tier = (typeof tiers)[number]

export const isTier = (text: string): text is Tier => (tiers as readonly string[]).includes(text)

/** Default limits of each tier; the settings of the same names override them. */
export const defaultTierLimits = {
  /** Requests per second / burst. */
  RATE_LIMITS: 'anonymous=20/100,free=50/100,basic=100/200,pro=500/1000,proplus=2000/4000',
  MEDIA_MAX_BYTES: 'free=25MB,basic=100MB,pro=500MB,proplus=2GB',
  MEDIA_QUOTAS: 'free=5GB,basic=20GB,pro=100GB,proplus=500GB',
  DATABASE_QUOTAS: 'free=1GB,basic=2GB,pro=10GB,proplus=50GB',
  MAIL_DAILY_LIMITS: 'free=100,basic=1000,pro=10000,proplus=100000',
  SUBMISSION_HOURLY_LIMITS: 'free=500,basic=2000,pro=10000,proplus=50000',
} as const
