/** Stops waiting for work when the signal aborts; the work itself continues. */
export function raceWithAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    if (signal.aborted) return end()
    signal.addEventListener('abort', end)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
