import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { makeCertificate } from './certificate.ts'
import { ensureInstalled, whyNotInstalled } from './debian-package.ts'
import { freePort } from './free-port.ts'

const program = '/usr/sbin/postfix'
/** The owner of the mailboxes: the user `nobody`. */
const mailUser = 65534

/** A separate Postfix with one mailbox. */
export interface Postfix {
  port: number
  /** The only address it accepts e-mails for. */
  address: string
  /** The messages in the mailbox. */
  arrived(): Promise<string[]>
  /** Its log. */
  log(): Promise<string>
}

/** Why Postfix cannot run on this machine; undefined if it can. It requires root and Debian's package. */
export function whyNoPostfix(): string | undefined {
  return process.getuid?.() === 0 ? whyNotInstalled(program) : 'Postfix can only be started by root'
}

const settings = (folder: string, address: string) => `compatibility_level = 3.6
myhostname = mail.people.example
mydestination =
mynetworks =
smtpd_relay_restrictions = reject_unauth_destination
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = ${folder}/log
maillog_file_prefixes = ${folder}
smtpd_peername_lookup = no
disable_dns_lookups = yes
alias_maps =
local_recipient_maps =
virtual_mailbox_domains = people.example
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = inline:{${address}=inbox/}
virtual_uid_maps = static:${mailUser}
virtual_gid_maps = static:${mailUser}
smtpd_tls_security_level = may
smtpd_tls_cert_file = ${folder}/cert.pem
smtpd_tls_key_file = ${folder}/key.pem
`

const services = (port: number) => `127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'data')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Stopped when the test or suite ends. */
export async function startPostfix(): Promise<Postfix> {
  ensureInstalled(program, 'postfix')
  const folder = await mkdtemp(join(tmpdir(), 'sluice-postfix-'))
  await chmod(folder, 0o755) // the processes of Postfix run as different users
  const address = 'ann@people.example'
  const port = await freePort()
  const { key, cert } = makeCertificate('mail.people.example')
  for (const name of ['config', 'queue', 'mail']) await mkdir(join(folder, name))
  await chown(join(folder, 'mail'), mailUser, mailUser)
  await writeFile(join(folder, 'cert.pem'), cert)
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 })
  await writeFile(join(folder, 'config/main.cf'), settings(folder, address))
  await writeFile(join(folder, 'config/master.cf'), services(port))

  const command = (verb: string) =>
    spawnSync(program, ['-c', join(folder, 'config'), verb], { stdio: 'ignore', timeout: 60_000 })
  const log = () => readFile(join(folder, 'log'), 'utf8').catch(() => '')
  after(async () => {
    command('stop')
    await rm(folder, { recursive: true, force: true })
  })
  const { status } = command('start')
  const deadline = Date.now() + 30_000
  while (!(await answers(port))) {
    if (status !== 0 || Date.now() > deadline) throw new Error(`Postfix did not start (${status}):\n${await log()}`)
    await wait(50)
  }
  const inbox = join(folder, 'mail/inbox/new')
  return {
    port,
    address,
    log,
    async arrived() {
      const names = await readdir(inbox).catch(() => [])
      return Promise.all(names.map((name) => readFile(join(inbox, name), 'utf8')))
    },
  }
}
