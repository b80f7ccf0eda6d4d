import type { Static, TObject, TProperties, TSchema } from 'typebox'
import type { Clock } from '../clock.ts'
import { AppError, invalid } from '../errors.ts'
import { checkInput } from '../http/check-input.ts'
import type { Mail } from '../mail/mail.ts'
import type { Media } from '../media/media.ts'
import type { Upload } from '../media/receive.ts'
import type { Payments } from '../payments/payments.ts'
import { type GroupRole, isGroupRole, reaches } from '../roles.ts'
import { type Authoring, type ContentWriter, writeContent } from '../store/changes.ts'
import {
  findGroupById,
  type Group,
  type GroupStore,
  noSuchGroup,
  openContentOf,
  refuseDeleting,
} from '../store/groups.ts'
import type { Store } from '../store/open.ts'
import { requestLimits } from '../store/write-limits.ts'
import { Type } from '../type.ts'
import { id } from './shapes.ts'

/** Who manages: a user of the API by a token, or somebody at the machine's own terminal. */
export interface Actor {
  id: string | null
  name: string
  address: string
  /** Of the whole service. */
  administrator: boolean
  /** Whether they came with a token that may do less than they may. */
  narrowed: boolean
  roleIn(groupId: string): GroupRole | undefined
  /** When the token that they came with ends; null where it does not, or where there is none. */
  tokenExpiresMs: number | null
  /** Who they are by now: a token may be revoked at any time. Who is at the terminal stays who they are. */
  again?(): Promise<Actor>
}

export interface ManageDeps {
  /** None at the machine's own terminal. */
  maxAnswerBytes?: number
  store: Store
  media: Media
  payments: Payments
  mail: Mail
  clock: Clock
}

/** What a verb works with. */
export interface ServiceContext extends Omit<ManageDeps, 'clock'> {
  maxAnswerBytes: number
  actor: Actor
  nowMs: number
  authoring: Authoring
  /** The file that comes with the call. It is asked for when everything else is known to be right. */
  upload(): Promise<Upload>
}

/** … and inside a group that the actor may manage. */
export interface GroupContext extends ServiceContext {
  group: Group
  content: GroupStore
  /** Asks once more whether the actor may do this here. For what takes long, before anything comes of it. */
  confirm(): Promise<void>
  /** Changes the group's content in one transaction. */
  write<Result>(work: (writer: ContentWriter) => Promise<Result>): Promise<Result>
}

const kilobyte = 1024
/** What a body may weigh that says what to do; only what stores content takes more. */
export const defaultBodyBytes = 256 * kilobyte
/** Settings of a site, or a schema. */
export const settingsBodyBytes = 1024 * kilobyte
/** Objects: the million characters of one may take four bytes each. */
export const contentBodyBytes = 4 * 1024 * kilobyte

/** `anonymous` needs no token; `anyone` who has a token; a role in the group; or `administrator` of the service. */
export type NeededRole = 'anonymous' | 'anyone' | GroupRole | 'administrator'

/** One thing that a person does. The HTTP API, the command line and later the portal offer these, and nothing else. */
export interface Verb {
  /** On the command line `object publish`, in the record `object.publish`. */
  name: string
  summary: string
  description: string
  needs: NeededRole
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  /** Which parts of the input stand in the path. */
  inPath: readonly string[]
  /** Whether the others come in a body, and not in the query string. */
  hasBody: boolean
  maxBodyBytes: number
  input: TObject
  /** What `data` holds in the answer. */
  answer: TSchema
  /** On the command line: what is given without an option's name, after the places in the path. */
  args: readonly string[]
  /** Which parts a person wants to see in a table. */
  columns: readonly string[]
  inGroup: boolean
  /** Whether a file comes with it, as `multipart/form-data`; the rest of the input then stands in the query string. */
  takesFile: boolean
  /** Whether it goes over all of a group: then one at a time does in each. */
  isExclusive: boolean
  /** Whether something new has come to be: HTTP says 201. */
  isCreation: boolean
  /** What a person at the terminal wants to do after it. */
  next(data: unknown): string
  /** Of an answer that is not in the envelope. */
  contentType: string | undefined
  /** Refuses who has not the role, by what is known before anything of the input is read. */
  checkRole(actor: Actor, groupId: string): void
  run(context: ServiceContext, input: unknown): Promise<unknown>
}

interface VerbDefinition<Properties extends TProperties, Context> {
  name: string
  summary: string
  description?: string
  needs: NeededRole
  route: `${Verb['method']} /manage${string}`
  input: Properties
  answer: TSchema
  args?: readonly string[]
  columns?: readonly string[]
  takesFile?: boolean
  isExclusive?: boolean
  maxBodyBytes?: number
  isCreation?: boolean
  next?(data: { _id: string }): string
  contentType?: string
  run(call: { ctx: Context; input: Static<TObject<Properties>> }): Promise<unknown>
}

type CommonParts = Omit<Verb, 'input' | 'inGroup' | 'checkRole' | 'run'>

function commonParts(definition: Omit<VerbDefinition<TProperties, never>, 'run' | 'input'>): CommonParts {
  const { route, name, summary, description = '', needs, answer, args = [], columns = [], contentType } = definition
  const { isCreation = false, takesFile = false, isExclusive = false } = definition
  const { maxBodyBytes = defaultBodyBytes, next } = definition
  const [method = '', path = ''] = route.split(' ')
  const parts = {
    name,
    summary,
    description,
    needs,
    answer,
    args,
    columns,
    isCreation,
    takesFile,
    isExclusive,
    contentType,
  }
  return {
    ...parts,
    method: method as Verb['method'],
    path,
    inPath: [...path.matchAll(/:(\w+)/g)].map(([, part = '']) => part),
    hasBody: method !== 'GET' && method !== 'DELETE' && !takesFile,
    maxBodyBytes,
    next: (data) => next?.(data as { _id: string }) ?? '',
  }
}

export function defineServiceVerb<Properties extends TProperties>(
  definition: VerbDefinition<Properties, ServiceContext>,
): Verb {
  const { input, run, needs } = definition
  const schema = Type.Object(input, { additionalProperties: false })
  return {
    ...commonParts(definition),
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
  const { input, run, needs } = definition
  const schema = Type.Object({ groupId: id('The group.'), ...input }, { additionalProperties: false })
  const common = commonParts(definition)
  return {
    ...common,
    input: schema,
    inGroup: true,
    checkRole: (actor, groupId) => checkGroupRole(actor, groupId, needs),
    async run(service, given) {
      const { groupId } = given as { groupId?: unknown }
      // Who may not come in is told so before anything of what they send is looked at.
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

/** A group in which the actor has no role looks like one that does not exist. */
function checkGroupRole(actor: Actor, groupId: string, needs: NeededRole): void {
  if (actor.administrator) return
  const role = actor.roleIn(groupId)
  if (!role) throw noSuchGroup()
  if (needs === 'administrator' || (isGroupRole(needs) && !reaches(role, needs))) throw forbidden(needs)
}

/** The one verb that a group under deletion still takes. */
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
  // Who deletes something must be able to, also where the word of it is what does not fit.
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
  throw invalid('A file must be sent along.')
}

/** The one way in: the verb checks the role, then the input, then does it. */
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
