import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

export interface RunningProcess {
  pid: number
  command: string
}

const readOwn = (pid: string, name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8')

/**
 * From `/proc`, since small images have no `ps`. A daemon that left the group is known by the folder, which its command or
 * its environment names. Zombies do not count: they only wait to be collected.
 */
function findInProc(group: number, folder: string): RunningProcess[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    try {
      const stat = readOwn(pid, 'stat')
      const [state = '', , memberOf] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const command = readOwn(pid, 'cmdline').replaceAll('\0', ' ').trim()
      const isOurs = Number(memberOf) === group || `${command}\0${readOwn(pid, 'environ')}`.includes(folder)
      return isOurs && !'ZX'.includes(state) ? [{ pid: Number(pid), command }] : []
    } catch {
      return [] // it has just ended, or is not ours
    }
  })
}

function findByPs(group: number): RunningProcess[] {
  const { stdout } = spawnSync('ps', ['-axo', 'pid=,pgid=,stat=,command='], { encoding: 'utf8' })
  return stdout.split('\n').flatMap((line) => {
    const [, pid, memberOf, state = '', command = ''] = /^ *(\d+) +(\d+) +(\S+) +(.*)$/.exec(line) ?? []
    return Number(memberOf) === group && !state.startsWith('Z') ? [{ pid: Number(pid), command }] : []
  })
}

/** What still runs of a process group, and on Linux also what works in a folder. */
export const findRunning = (group: number, folder: string): RunningProcess[] =>
  existsSync('/proc/self/stat') ? findInProc(group, folder) : findByPs(group)

function kill(target: number): void {
  try {
    process.kill(target, 'SIGKILL')
  } catch {
    // it has ended
  }
}

/** Ends a process group and what works in a folder. */
export function killAll(group: number, folder: string): void {
  kill(-group)
  for (const { pid } of findRunning(group, folder)) kill(pid)
}
