import { readFileSync } from 'node:fs'

export interface Memory {
  /** Resident. */
  nowBytes: number
  /** The most that it ever was. */
  mostBytes: number
}

/** What another process has in memory, as Linux tells it. */
export function readMemory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
  return { nowBytes: bytesOf('VmRSS'), mostBytes: bytesOf('VmHWM') }
}
