import { hourMs } from '../core/clock.ts'
import { findSyncJob, orderKind } from '../payments/jobs.ts'
import { createPayments, type Payments, webhookSecretField } from '../payments/payments.ts'
import { ProviderFailure } from '../payments/provider.ts'
import { findMasterKey } from '../security/master-key.ts'
import { createVault } from '../security/vault.ts'
import { type Integration, listIntegrations } from '../store/commerce/integrations.ts'
import { secretFields } from '../store/content/secrets.ts'
import { findPendingJobs, type Job } from '../store/jobs/jobs.ts'
import { attention, type Check, type CheckedGroup, type DoctorContext, type Finding, wrong } from './check.ts'
import { counted, inTime, maxExamples, messageOf } from './format.ts'

/** A catalogue is reported after this multiple of its sync interval. */
const toleratedIntervals = 2

interface Account extends CheckedGroup {
  integration: Integration
  /** For sentences. */
  name: string
}

async function accountsOf(groups: readonly CheckedGroup[]): Promise<Account[]> {
  const found = await Promise.all(
    groups.map(async (checked) =>
      (await listIntegrations(checked.content)).map((integration) => ({
        ...checked,
        integration,
        name: `the ${integration.type} account "${integration.accountHandle}" of ${checked.group.name}`,
      })),
    ),
  )
  return found.flat().filter(({ integration }) => integration.status === 'active')
}

/** The arguments of commands. */
const idsOf = ({ group, integration }: Account): string => `${group.id} ${integration.id}`

/** Whether the provider answers and accepts our key. The sandbox needs none. */
async function findRefusal(payments: Payments, account: Account): Promise<Finding[]> {
  const { content, integration, name } = account
  if (integration.sandbox) return []
  try {
    await (await payments.open(content, integration)).verify()
    return []
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind !== 'refused')
      return attention({
        what: `The provider of ${name} does not answer: ${error.message}`,
        advice: 'Products are still served, but checkouts fail. Check whether this machine reaches the Internet.',
      })
    const isRefused = error instanceof ProviderFailure
    return wrong({
      what: `The key of ${name} cannot be used: ${messageOf(error)}`,
      advice: isRefused
        ? 'Checkouts fail. Set a working key:'
        : 'Checkouts fail. Restore the master key from your backup. Only if it is lost for good, begin with:',
      commands: [
        isRefused
          ? `npx sluice integration rotate ${idsOf(account)}`
          : `npx sluice integration disconnect ${idsOf(account)}`,
      ],
    })
  }
}

/** What to do about a missing webhook, with the provider's words if it refused one. */
function adviseWebhook(payments: Payments, integration: Integration): Pick<Finding, 'examples' | 'advice'> {
  const byHand = 'or set a webhook up there by hand, and store its secret:'
  if (payments.webhookUrl(integration) === undefined)
    return { advice: `Set PUBLIC_URL to an https address and have the provider call it; ${byHand}` }
  const { webhookProblem } = integration
  if (webhookProblem === null) return { advice: `Have the provider call us; ${byHand}` }
  return {
    examples: [webhookProblem],
    advice: `The provider refused to create a webhook. When the cause is gone, ask again; ${byHand}`,
  }
}

async function checkWebhook(payments: Payments, account: Account): Promise<Finding[]> {
  const { content, integration, name } = account
  if ((await secretFields(content, integration.id)).includes(webhookSecretField)) return []
  return attention({
    what: `There is no webhook for ${name}: products and orders are updated only when the whole catalogue is synchronised.`,
    ...adviseWebhook(payments, integration),
    commands: [`npx sluice integration webhook ${idsOf(account)}`, `npx sluice integration secret ${idsOf(account)}`],
  })
}

async function findFailedSync(account: Account): Promise<Finding[]> {
  const { content, integration, name } = account
  const problem = (await findSyncJob(content, integration.id))?.problem
  if (!problem) return []
  return attention({
    what: `The catalogue of ${name} could not be synchronised: ${problem}`,
    advice: 'It is retried automatically. When the cause is gone, retry at once:',
    commands: [`npx sluice integration sync ${idsOf(account)}`],
  })
}

/** Orders that could not be recorded so far. Final failures are reported with the jobs. */
async function findUnrecordedOrders(account: Account): Promise<Finding[]> {
  const { content, integration, group, name } = account
  const pending = await findPendingJobs(content, orderKind)
  const isOurs = ({ payload, problem }: Job): boolean =>
    problem !== null && (payload as { integrationId: string }).integrationId === integration.id
  const [first, ...others] = pending.filter(isOurs)
  if (!first) return []
  return attention({
    what: `${counted(others.length + 1, 'order', 'orders')} of ${name} could not be recorded so far.`,
    examples: [first, ...others].slice(0, maxExamples).map(({ id, problem }) => `${id}: ${problem}`),
    advice: 'This is retried automatically. When the cause is gone, retry at once:',
    commands: [`npx sluice job retry ${group.id} ${first.id}`],
  })
}

function findOverdueSync(ctx: DoctorContext, account: Account): Finding[] {
  const { integration, name } = account
  const limitMs = ctx.config.catalogueSyncHours * hourMs * toleratedIntervals
  const agoMs = ctx.clock() - (integration.syncedMs ?? integration.createdMs)
  if (limitMs === 0 || agoMs < limitMs) return []
  const since =
    integration.syncedMs === null ? 'was never synchronised since it was connected' : 'was last synchronised'
  return attention({
    what: `The catalogue of ${name} ${since}, ${inTime(agoMs)} ago.`,
    advice: 'The finding about jobs may show the cause. To synchronise it at once:',
    commands: [`npx sluice integration sync ${idsOf(account)}`],
  })
}

function findLeftOut(account: Account): Finding[] {
  const { integration, name } = account
  const problems = integration.lastSync?.problems ?? []
  if (problems.length === 0) return []
  return attention({
    what: `Not everything of ${name} could be imported.`,
    examples: problems.slice(0, maxExamples),
    advice: 'Correct it at the provider; the change is synchronised automatically. To see all problems:',
    commands: [`npx sluice integration show ${idsOf(account)}`],
  })
}

const noKey = (accounts: readonly Account[]): Finding[] =>
  wrong({
    what: `${counted(accounts.length, 'payment account')} cannot be used: there is no master key to open the secrets with.`,
    advice: 'Restore DATA_DIR/master.key from your backup, or set SLUICE_MASTER_KEY to its former value.',
  })

export const paymentsCheck: Check = {
  name: 'Payments',
  async run(ctx) {
    const accounts = await accountsOf(await ctx.groups())
    if (accounts.length === 0) return []
    const { config, clock } = ctx
    const masterKey = findMasterKey(config.dataDir, config.masterKey)
    if (!masterKey) return noKey(accounts)
    const vault = createVault(masterKey)
    const store = await ctx.store()
    const payments = createPayments({ config, vault, clock, store, baseUrl: () => 'http://localhost' })
    const findings: Finding[] = []
    for (const account of accounts) {
      findings.push(
        ...(await findRefusal(payments, account)),
        ...(await checkWebhook(payments, account)),
        ...(await findFailedSync(account)),
        ...(await findUnrecordedOrders(account)),
        ...findOverdueSync(ctx, account),
        ...findLeftOut(account),
      )
    }
    return findings
  },
}
