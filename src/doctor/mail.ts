import { dayMs, hourMs } from '../core/clock.ts'
import { createGroupTransports, type GroupTransports } from '../mail/group-transports.ts'
import { checkMailSettings } from '../mail/mail.ts'
import type { MailServerAddress } from '../mail/server-address.ts'
import { probeServer } from '../mail/smtp.ts'
import { findMasterKey } from '../security/master-key.ts'
import { createVault } from '../security/vault.ts'
import { findDelayedMessages, findFailedMessages, findStrandedMessages } from '../store/checks/queues.ts'
import { findMailServer, type GroupMailServer } from '../store/mail/mail-servers.ts'
import { attention, type Check, type CheckedGroup, type DoctorContext, type Finding, wrong } from './check.ts'
import { counted, maxExamples, messageOf, shellWord } from './format.ts'
import { isPublicHost } from './settings.ts'

const failedForDays = 7

const describe = (messages: { id: string; problem: string | null }[]): string[] =>
  messages.map(({ id, problem }) => `${id}: ${problem ?? 'no reason is known'}`)

async function findFailed({ clock }: DoctorContext, { group, content }: CheckedGroup): Promise<Finding[]> {
  const { count, latest } = await findFailedMessages(content, clock() - failedForDays * dayMs, maxExamples)
  if (count === 0) return []
  return attention({
    what: `${counted(count, 'e-mail')} of ${group.name} failed in the last ${failedForDays} days.`,
    examples: describe(latest),
    advice: 'To see all of them, and to send one again when the cause is gone:',
    commands: [`npx sluice mail list ${group.id} --state failed`, `npx sluice mail retry ${group.id} ${latest[0]?.id}`],
  })
}

async function findDelayed({ clock }: DoctorContext, { group, content }: CheckedGroup): Promise<Finding[]> {
  const { count, latest } = await findDelayedMessages(content, clock() - hourMs, maxExamples)
  if (count === 0) return []
  return attention({
    what: `${counted(count, 'e-mail')} of ${group.name} ${count === 1 ? 'waits' : 'wait'} for more than an hour.`,
    examples: describe(latest),
    advice: 'They are retried automatically, for about a day. To see all of them:',
    commands: [`npx sluice mail list ${group.id} --state waiting`],
  })
}

async function findStranded({ group, content }: CheckedGroup): Promise<Finding[]> {
  const { count, latest } = await findStrandedMessages(content, maxExamples)
  if (count === 0) return []
  return wrong({
    what: `${counted(count, 'e-mail')} of ${group.name} ${count === 1 ? 'waits' : 'wait'}, and there is no job to deliver ${count === 1 ? 'it' : 'them'}.`,
    advice: 'Nothing will retry this automatically. Have each of them delivered:',
    commands: latest.map(({ id }) => `npx sluice mail retry ${group.id} ${id}`),
  })
}

interface GroupWithServer extends CheckedGroup {
  server: GroupMailServer
}

/** Opening a transport unseals its address; it connects only when it delivers. */
async function findUnusableServer(
  transports: GroupTransports,
  { group, content, server }: GroupWithServer,
): Promise<Finding[]> {
  try {
    await transports.of(content, server)
    return []
  } catch (error) {
    return wrong({
      what: `The mail server of ${group.name} cannot be used: ${messageOf(error)}`,
      advice:
        'Its e-mails wait. Restore the master key from your backup. Only if it is lost for good, set the server again:',
      commands: [
        `npx sluice mail-server remove ${group.id}`,
        `npx sluice mail-server set ${group.id} ${shellWord(server.fromAddress)}`,
      ],
    })
  }
}

const noKey = (count: number): Finding[] =>
  wrong({
    what: `${counted(count, 'mail server')} of groups cannot be used: there is no master key to open their addresses with.`,
    advice: 'Restore DATA_DIR/master.key from your backup, or set SLUICE_MASTER_KEY to its former value.',
  })

async function findUnreachable(server: MailServerAddress): Promise<Finding[]> {
  const problem = await probeServer(server, { hosts: 'any' })
  if (problem === undefined) return []
  return attention({
    what: `The mail server of SMTP_URL cannot be used: ${problem}`,
    advice:
      'E-mails wait for it, for about a day. Check whether it runs, and whether SMTP_URL is right; if a private CA signed its certificate, name the CA in NODE_EXTRA_CA_CERTS:',
    commands: ['npx sluice doctor'],
  })
}

/** A public service needs a mail server. */
function findNoServer({ config }: DoctorContext): Finding[] {
  const url = URL.parse(config.publicUrl ?? '')
  if (config.mailServer || url?.protocol !== 'https:' || !isPublicHost(url.hostname)) return []
  return attention({
    what: 'There is no mail server: e-mails are stored in DATA_DIR/mailbox and not delivered.',
    advice: 'Set its address, and the sender of e-mails:',
    commands: ['SMTP_URL=smtp://user:password@smtp.example.com:587 MAIL_FROM=mail@example.com'],
  })
}

function findBadSettings({ config }: DoctorContext): Finding[] {
  try {
    checkMailSettings(config)
    return []
  } catch (error) {
    return wrong({
      what: `The settings for e-mails are invalid, so the service will not start: ${messageOf(error)}`,
      advice: 'Correct them, and check again:',
      commands: ['npx sluice doctor'],
    })
  }
}

/** Undefined without a master key; one that cannot be read is another check's finding. */
function openTransports({ dataDir, masterKey, mailGroupHosts: hosts }: DoctorContext['config']) {
  try {
    const key = findMasterKey(dataDir, masterKey)
    return key && createGroupTransports(createVault(key), { hosts })
  } catch {
    return undefined
  }
}

/** The mail servers of the service and of groups. */
async function checkServers(ctx: DoctorContext, groups: readonly CheckedGroup[]): Promise<Finding[]> {
  const { mailServer } = ctx.config
  const withOwn: GroupWithServer[] = []
  for (const checked of groups) {
    const server = await findMailServer(checked.content)
    if (server) withOwn.push({ ...checked, server })
  }
  const findings = withOwn.length < groups.length ? findNoServer(ctx) : []
  if (mailServer) findings.push(...(await findUnreachable(mailServer)))
  if (withOwn.length === 0) return findings
  const transports = openTransports(ctx.config)
  if (!transports) return [...findings, ...noKey(withOwn.length)]
  for (const checked of withOwn) findings.push(...(await findUnusableServer(transports, checked)))
  transports.close()
  return findings
}

export const mailCheck: Check = {
  name: 'E-mails',
  async run(ctx) {
    const groups = await ctx.groups()
    const findings: Finding[] = []
    for (const checked of groups)
      findings.push(
        ...(await findFailed(ctx, checked)),
        ...(await findDelayed(ctx, checked)),
        ...(await findStranded(checked)),
      )
    const bad = findBadSettings(ctx)
    return [...findings, ...(bad.length > 0 ? bad : await checkServers(ctx, groups))]
  },
}
