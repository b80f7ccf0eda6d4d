import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

export interface RunningProcess {
  pid: number
  command: string
}

const readOwn = (pid: string, name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8')

/**
 * Read from `/proc`, since small images have no `ps`. A daemon that has left the group is identified by the folder in its
 * command or environment. Zombies do not count.
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
      return [] // has just ended, or belongs to another user
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

/** The running processes of a group and, on Linux, those that work in a folder. */
export const findRunning = (group: number, folder: string): RunningProcess[] =>
  existsSync('/proc/self/stat') ? findInProc(group, folder) : findByPs(group)

function kill(target: number): void {
  try {
    process.kill(target, 'SIGKILL')
  } catch {
    // has ended
  }
}

/** Ends a process group and the processes that work in a folder. */
export function killAll(group: number, folder: string): void {
  kill(-group)
  for (const { pid } of findRunning(group, folder)) kill(pid)
}
