import { findSyncJob, orderKind } from '../payments/jobs.ts'
import { createPayments, type Payments, webhookSecretField } from '../payments/payments.ts'
import { ProviderFailure } from '../payments/provider.ts'
import { findMasterKey } from '../security/master-key.ts'
import { createVault } from '../security/vault.ts'
import { type Integration, listIntegrations } from '../store/commerce/integrations.ts'
import { secretFields } from '../store/content/secrets.ts'
import { findPendingJobs, type Job } from '../store/jobs/jobs.ts'
import type { Check, CheckedGroup, DoctorContext, Finding } from './check.ts'
import { counted, inTime, maxExamples, messageOf } from './format.ts'

const hourMs = 3_600_000
/** So many times longer than it should take before somebody is told. */
const patience = 2
interface Account extends CheckedGroup {
  integration: Integration
  /** What to call it. */
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

/** How commands name it. */
const idsOf = ({ group, integration }: Account): string => `${group.id} ${integration.id}`

/** Whether the provider answers and accepts our key. The sandbox is part of us and needs none. */
async function findRefusal(payments: Payments, account: Account): Promise<Finding[]> {
  const { content, integration, name } = account
  if (integration.sandbox) return []
  try {
    await (await payments.open(content, integration)).verify()
    return []
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind !== 'refused')
      return [
        {
          level: 'attention',
          what: `The provider of ${name} does not answer: ${error.message}`,
          advice:
            'Products are served all the same; nobody can check out. Look whether this machine reaches the Internet.',
        },
      ]
    const isRefused = error instanceof ProviderFailure
    return [
      {
        level: 'wrong',
        what: `The key of ${name} cannot be used: ${messageOf(error)}`,
        advice: isRefused
          ? 'Nobody can check out. Give it a key that works:'
          : 'Nobody can check out. Restore the master key from your backup; only if it is lost for good, begin with:',
        commands: [
          isRefused
            ? `npx sluice integration rotate ${idsOf(account)}`
            : `npx sluice integration disconnect ${idsOf(account)}`,
        ],
      },
    ]
  }
}

/** What to do about a webhook that is not there; where the provider refused one, what it said. */
function adviseWebhook(payments: Payments, integration: Integration): Pick<Finding, 'examples' | 'advice'> {
  const byHand = 'or set a webhook up there by hand, and keep its secret:'
  if (payments.webhookUrl(integration) === undefined)
    return { advice: `Set PUBLIC_URL to an https address and have the provider call it; ${byHand}` }
  const { webhookProblem } = integration
  if (webhookProblem === null) return { advice: `Have the provider call us; ${byHand}` }
  return {
    examples: [webhookProblem],
    advice: `The provider was asked for a webhook and refused. When the reason is gone, ask again; ${byHand}`,
  }
}

async function checkWebhook(payments: Payments, account: Account): Promise<Finding[]> {
  const { content, integration, name } = account
  if ((await secretFields(content, integration.id)).includes(webhookSecretField)) return []
  return [
    {
      level: 'attention',
      what: `Nobody tells us when something changes in ${name}: products follow when all are compared, and so do orders.`,
      ...adviseWebhook(payments, integration),
      commands: [`npx sluice integration webhook ${idsOf(account)}`, `npx sluice integration secret ${idsOf(account)}`],
    },
  ]
}

async function findStopped(account: Account): Promise<Finding[]> {
  const { content, integration, name } = account
  const problem = (await findSyncJob(content, integration.id))?.problem
  if (!problem) return []
  return [
    {
      level: 'attention',
      what: `The catalogue of ${name} could not be looked through: ${problem}`,
      advice: 'It is tried again by itself. When the reason is gone, try at once:',
      commands: [`npx sluice integration sync ${idsOf(account)}`],
    },
  ]
}

/** Orders that could not be recorded so far. What failed for good is with the jobs. */
async function findUnrecordedOrders(account: Account): Promise<Finding[]> {
  const { content, integration, group, name } = account
  const pending = await findPendingJobs(content, orderKind)
  const isOurs = ({ payload, problem }: Job): boolean =>
    problem !== null && (payload as { integrationId: string }).integrationId === integration.id
  const [first, ...others] = pending.filter(isOurs)
  if (!first) return []
  return [
    {
      level: 'attention',
      what: `${counted(others.length + 1, 'order', 'orders')} of ${name} could not be taken over so far.`,
      examples: [first, ...others].slice(0, maxExamples).map(({ id, problem }) => `${id}: ${problem}`),
      advice: 'It is tried again by itself. When the reason is gone, try at once:',
      commands: [`npx sluice job retry ${group.id} ${first.id}`],
    },
  ]
}

function findDelay(ctx: DoctorContext, account: Account): Finding[] {
  const { integration, name } = account
  const limitMs = ctx.config.catalogueSyncHours * hourMs * patience
  const agoMs = ctx.clock() - (integration.syncedMs ?? integration.createdMs)
  if (limitMs === 0 || agoMs < limitMs) return []
  const since = integration.syncedMs === null ? 'has not come in since it was connected' : 'was last compared'
  return [
    {
      level: 'attention',
      what: `The catalogue of ${name} ${since}, ${inTime(agoMs)} ago.`,
      advice: 'The finding about jobs may say why. To try at once:',
      commands: [`npx sluice integration sync ${idsOf(account)}`],
    },
  ]
}

function findLeftOut(account: Account): Finding[] {
  const { integration, name } = account
  const problems = integration.lastSync?.problems ?? []
  if (problems.length === 0) return []
  return [
    {
      level: 'attention',
      what: `Not everything of ${name} could be taken over.`,
      examples: problems.slice(0, maxExamples),
      advice: 'Put it right at the provider; it follows by itself. To see all of it:',
      commands: [`npx sluice integration show ${idsOf(account)}`],
    },
  ]
}

const noKey = (accounts: readonly Account[]): Finding => ({
  level: 'wrong',
  what: `${counted(accounts.length, 'payment account')} cannot be used: there is no master key to open the secrets with.`,
  advice: 'Restore DATA_DIR/master.key from your backup, or set SLUICE_MASTER_KEY to what it was.',
})

/** Accounts at payment providers. */
export const paymentsCheck: Check = {
  name: 'Payments',
  async run(ctx) {
    const accounts = await accountsOf(await ctx.groups())
    if (accounts.length === 0) return []
    const { config, clock } = ctx
    const masterKey = findMasterKey(config.dataDir, config.masterKey)
    if (!masterKey) return [noKey(accounts)]
    const vault = createVault(masterKey)
    const store = await ctx.store()
    const payments = createPayments({ config, vault, clock, store, baseUrl: () => 'http://localhost' })
    const findings: Finding[] = []
    for (const account of accounts) {
      findings.push(
        ...(await findRefusal(payments, account)),
        ...(await checkWebhook(payments, account)),
        ...(await findStopped(account)),
        ...(await findUnrecordedOrders(account)),
      )
      findings.push(...findDelay(ctx, account), ...findLeftOut(account))
    }
    return findings
  },
}
