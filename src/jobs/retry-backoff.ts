/** Seconds until the next attempt after the first, second, … failure. One more failure is final: see `JobHandler.giveUp`. */
export const retryDelaysSeconds = {
  purgeContainer: [60, 600, 3600, 24 * 3600],
  fillSearchIndex: [60, 600, 3600, 24 * 3600],
  splitRanges: [60, 600, 3600, 24 * 3600],
  deriveImages: [30, 300],
  removeFiles: [60, 600, 3600, 24 * 3600],
  syncCatalogue: [60, 300, 1800, 7200],
  refreshProduct: [5, 60, 600, 3600, 14_400],
  fetchPicture: [30, 600, 7200],
  recordOrder: [5, 60, 600, 3600, 14_400, 43_200],
  sendSandboxEvent: [5, 30, 300, 3600],
  settleSandboxPayment: [5, 30, 300, 3600],
  deliverMail: [5, 300, 1800, 7200, 18_000, 36_000, 36_000],
  sendNotice: [10, 60, 600, 3600, 3600, 3600],
} as const

/** Undefined after the last attempt. */
export const nextDelaySeconds = (delaysSeconds: readonly number[], failures: number): number | undefined =>
  delaysSeconds[failures - 1]

export const maxAttempts = (delaysSeconds: readonly number[]): number => delaysSeconds.length + 1
