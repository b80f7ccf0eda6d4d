import type { Static, TObject, TProperties, TSchema } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { AppError, invalid } from '../core/errors.ts'
import { type GroupRole, isGroupRole, reaches } from '../core/roles.ts'
import { Type } from '../core/type.ts'
import { checkInput } from '../http/check-input.ts'
import type { Mail } from '../mail/types.ts'
import type { Upload } from '../media/inbox.ts'
import type { Media } from '../media/media.ts'
import type { Payments } from '../payments/payments.ts'
import { type Authoring, type ContentWriter, requestLimits, writeContent } from '../store/content/changes.ts'
import { settleIfDue } from '../store/content/due.ts'
import { findGroupById, type Group, noSuchGroup, openContentOf, refuseDeleting } from '../store/control/groups.ts'
import type { GroupStore, Store } from '../store/store.ts'
import { id } from './shapes.ts'
import { type Method, type NeededRole, type VerbName, verbTable } from './verb-table.ts'

/** The caller: a user of the API with a token, or a user of the machine's terminal. */
export interface Actor {
  id: string | null
  name: string
  address: string
  /** Of the whole service. */
  administrator: boolean
  /** Whether their token allows less than they may do themselves. */
  narrowed: boolean
  roleIn(groupId: string): GroupRole | undefined
  /** When their token expires; null if it does not, or if there is none. */
  tokenExpiresMs: number | null
  /** Authenticates them again: a token may be revoked at any time. Missing at the terminal. */
  again?(): Promise<Actor>
}

export interface ManageDeps {
  /** Unlimited at the machine's terminal. */
  maxAnswerBytes?: number
  store: Store
  media: Media
  payments: Payments
  mail: Mail
  clock: Clock
}

/** A verb's dependencies. */
export interface ServiceContext extends Omit<ManageDeps, 'clock'> {
  maxAnswerBytes: number
  actor: Actor
  nowMs: number
  authoring: Authoring
  /** Opens the file of the request. Called once everything else has been validated. */
  upload(): Promise<Upload>
}

/** The same inside a group that the actor may manage. */
export interface GroupContext extends ServiceContext {
  group: Group
  content: GroupStore
  /** Checks the role again: for work that takes long, before its result is stored. */
  confirm(): Promise<void>
  /** Changes the group's content in one transaction. */
  write<Result>(work: (writer: ContentWriter) => Promise<Result>): Promise<Result>
}

const kilobyte = 1024
/** The body limit of verbs that store no content. */
export const defaultBodyBytes = 256 * kilobyte
/** Settings of a site, or a schema. */
export const settingsBodyBytes = 1024 * kilobyte
/** Objects: the million characters of one may take four bytes each. */
export const contentBodyBytes = 4 * 1024 * kilobyte

/** One operation. The HTTP API, the command line and later the portal offer these, and nothing else. */
export interface Verb {
  /** On the command line `object publish`, in the audit record `object.publish`. */
  name: VerbName
  summary: string
  description: string
  needs: NeededRole
  method: Method
  path: string
  /** The inputs that are part of the path. */
  inPath: readonly string[]
  /** Whether the others come in a body instead of the query string. */
  hasBody: boolean
  maxBodyBytes: number
  input: TObject
  /** The schema of `data` in the answer. */
  answer: TSchema
  /** On the command line: positional arguments after those of the path. */
  args: readonly string[]
  /** The columns of the command line's table. */
  columns: readonly string[]
  inGroup: boolean
  /** Whether it uploads a file, as `multipart/form-data`; the rest of the input is then in the query string. */
  takesFile: boolean
  /** Whether it works on all of a group's content, so that only one runs per group. */
  isExclusive: boolean
  /** Whether it creates something: HTTP answers 201. */
  isCreation: boolean
  /** A suggestion for the next command at the terminal. */
  next(data: unknown): string
  /** The type of an answer that is not in the envelope. */
  contentType: string | undefined
  /** Throws unless the actor has the role. Needs none of the input but the group. */
  checkRole(actor: Actor, groupId: string): void
  run(context: ServiceContext, input: unknown): Promise<unknown>
}

interface VerbDefinition<Properties extends TProperties, Context>
  extends Pick<Verb, 'name' | 'summary' | 'answer'>,
    Partial<
      Pick<
        Verb,
        'description' | 'args' | 'columns' | 'takesFile' | 'isExclusive' | 'maxBodyBytes' | 'isCreation' | 'contentType'
      >
    > {
  input: Properties
  next?(data: { _id: string }): string
  run(call: { ctx: Context; input: Static<TObject<Properties>> }): Promise<unknown>
}

type CommonParts = Omit<Verb, 'input' | 'inGroup' | 'checkRole' | 'run'>

function commonParts(definition: Omit<VerbDefinition<TProperties, never>, 'run' | 'input'>): CommonParts {
  const { name, summary, answer, description = '', args = [], columns = [], contentType, next } = definition
  const { isCreation = false, takesFile = false, isExclusive = false, maxBodyBytes = defaultBodyBytes } = definition
  const [needs, route] = verbTable[name]
  const [method, path] = route.split(' ') as [Method, string]
  return {
    name,
    summary,
    description,
    needs,
    method,
    path,
    inPath: [...path.matchAll(/:(\w+)/g)].map(([, part = '']) => part),
    hasBody: method !== 'GET' && method !== 'DELETE' && !takesFile,
    maxBodyBytes,
    answer,
    args,
    columns,
    takesFile,
    isExclusive,
    isCreation,
    contentType,
    next: (data) => next?.(data as { _id: string }) ?? '',
  }
}

export function defineServiceVerb<Properties extends TProperties>(
  definition: VerbDefinition<Properties, ServiceContext>,
): Verb {
  const { input, run } = definition
  const schema = Type.Object(input, { additionalProperties: false })
  const common = commonParts(definition)
  const { needs } = common
  return {
    ...common,
    input: schema,
    inGroup: false,
    checkRole: (actor) => checkServiceRole(actor, needs),
    async run(ctx, input) {
      checkServiceRole(ctx.actor, needs)
      return run({ ctx, input: checkInput(schema, input) })
    },
  }
}

/** A verb inside one group: `groupId` is added to its input. */
export function defineGroupVerb<Properties extends TProperties>(
  definition: VerbDefinition<Properties, GroupContext>,
): Verb {
  const { input, run } = definition
  const schema = Type.Object({ groupId: id('The group.'), ...input }, { additionalProperties: false })
  const common = commonParts(definition)
  const { needs } = common
  return {
    ...common,
    input: schema,
    inGroup: true,
    checkRole: (actor, groupId) => checkGroupRole(actor, groupId, needs),
    async run(service, given) {
      const { groupId } = given as { groupId?: unknown }
      // The role comes first: without it, nothing is revealed about the input.
      const ctx = await enterGroup(service, typeof groupId === 'string' ? groupId : '', common)
      const { groupId: _, ...others } = checkInput(schema, given) as { groupId: string }
      return run({ ctx, input: others as Static<TObject<Properties>> })
    },
  }
}

const forbidden = (needed: string): AppError =>
  new AppError('Forbidden', `This needs the role ${needed}, which your token does not have.`)

function checkServiceRole({ administrator }: Actor, needs: NeededRole): void {
  if (needs === 'administrator' && !administrator) throw forbidden('administrator')
}

/** A group in which the actor has no role looks like a missing one. */
function checkGroupRole(actor: Actor, groupId: string, needs: NeededRole): void {
  if (actor.administrator) return
  const role = actor.roleIn(groupId)
  if (!role) throw noSuchGroup()
  if (needs === 'administrator' || (isGroupRole(needs) && !reaches(role, needs))) throw forbidden(needs)
}

/** The only verb that a group under deletion accepts. */
const deletion = 'group.delete'

async function enterGroup(
  service: ServiceContext,
  groupId: string,
  { needs, method }: Pick<Verb, 'needs' | 'method'>,
): Promise<GroupContext> {
  const { actor, store, authoring } = service
  checkGroupRole(actor, groupId, needs)
  const group = await findGroupById(store, groupId)
  if (authoring.verb !== deletion) refuseDeleting(group)
  const content = await openContentOf(store, group)
  if (method === 'GET') await settleIfDue(content, authoring.nowMs) // writes do it themselves
  // A deletion is never over the quota, not even by its own audit record.
  const quotaBytes = method === 'DELETE' ? undefined : store.quotas?.database[group.tier]
  const inside = { ...authoring, versionsKept: group.versionsKept, limits: requestLimits, quotaBytes }
  return {
    ...service,
    authoring: inside,
    group,
    content,
    async confirm() {
      await enterGroup({ ...service, actor: (await actor.again?.()) ?? actor }, groupId, { needs, method })
    },
    write: (work) => writeContent(content, inside, work),
  }
}

export const recordName = ({ name }: Pick<Verb, 'name'>): string => name.replaceAll(' ', '.')

async function noUpload(): Promise<never> {
  throw invalid('A file is required.')
}

/** The only entry point: checks the role, then the input, then runs the verb. */
export async function runVerb(
  deps: ManageDeps,
  actor: Actor,
  verb: Verb,
  input: unknown,
  upload: () => Promise<Upload> = noUpload,
): Promise<unknown> {
  const nowMs = deps.clock()
  const { id: actorId, name, address } = actor
  const authoring: Authoring = {
    author: { id: actorId, name, address },
    verb: recordName(verb),
    nowMs,
    versionsKept: 0,
  }
  const { store, media, payments, mail, maxAnswerBytes = Number.POSITIVE_INFINITY } = deps
  return verb.run({ store, media, payments, mail, maxAnswerBytes, actor, nowMs, authoring, upload }, input)
}
