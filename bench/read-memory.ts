import { readFileSync } from 'node:fs'

export interface Memory {
  /** Resident set size. */
  nowBytes: number
  /** Peak resident set size. */
  mostBytes: number
}

/** Memory of another process, from Linux's /proc. */
export function readMemory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
  return { nowBytes: bytesOf('VmRSS'), mostBytes: bytesOf('VmHWM') }
}
