import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import type { GroupRole } from '../../src/core/roles.ts'
import { createAdminToken, type NewAdminToken } from '../../src/store/control/admin-tokens.ts'
import type { NewGroup } from '../../src/store/control/groups.ts'
import { addMember, createUser, type NewUser, type User } from '../../src/store/control/users.ts'
import { authoring } from './authoring.ts'
import { closeAfter, createHarness, type Harness, type TestEngine, type TestGroup } from './harness.ts'
import { type MailServer, startMailServer } from './mail-server.ts'
import { type StripeServer, startStripeServer } from './stripe-server.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

/** A user with a token; `token` creates further ones, narrowed as requested. */
export interface TestUser {
  user: User
  token: string
  newToken(narrowed?: NewAdminToken): Promise<string>
}

export interface ManagedGroup extends TestGroup {
  groupId: string
  members: Record<GroupRole, TestUser>
  /** Tokens by role, each of a user without other groups. */
  tokens: Record<GroupRole, string>
}

export interface Managing extends Harness {
  /** The payment provider of connected accounts. */
  stripe: StripeServer
  /** The mail servers available to groups. */
  mailServer: MailServer
  /** An administrator's token, the default of `call` and `ask`. */
  admin: string
  /** Sends any request. A token of null sends none. */
  call(method: Method, path: string, body?: object, token?: string | null): Promise<LightMyRequestResponse>
  /** Sends a request that must succeed, and returns the `data` of the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  ask(method: Method, path: string, body?: object, token?: string | null): Promise<any>
  newUser(input?: Partial<NewUser>, roles?: Record<string, GroupRole>): Promise<TestUser>
  newManagedGroup(input?: Partial<NewGroup>): Promise<ManagedGroup>
}

const unlimited = { MANAGE_RATE_LIMIT: '1000000/1000000' }

type Options = Parameters<typeof createHarness>[1]

/** Encodes a form with files as multipart, anything else as JSON. */
export async function encode(body: object | undefined) {
  if (!(body instanceof FormData)) return { payload: body, headers: {} }
  const form = new Response(body)
  const headers = { 'content-type': form.headers.get('content-type') ?? '' }
  return { payload: Buffer.from(await form.arrayBuffer()), headers }
}

/** A form with one file, as `curl -F file=@…` sends it. */
export function fileForm(name: string, content: string | Buffer): FormData {
  const form = new FormData()
  form.set('file', new File([new Uint8Array(Buffer.from(content))], name))
  return form
}

/** A harness with an administrator to call the management API. */
export async function createManaging(engine: TestEngine, options: Options = {}): Promise<Managing> {
  const stripe = await startStripeServer()
  const server = await startMailServer()
  const env = { ...unlimited, STRIPE_URL: stripe.url, MAIL_GROUP_HOSTS: 'any', ...options.env }
  const created = await createHarness(engine, { ...options, env })
  const { service, clock, newGroup } = created
  const { store } = service
  const app = service.manageApp ?? service.app

  async function newUser(input: Partial<NewUser> = {}, roles: Record<string, GroupRole> = {}): Promise<TestUser> {
    const user = await createUser(store, { name: 'A user', ...input }, authoring(clock.now))
    for (const [groupId, role] of Object.entries(roles))
      await addMember(store, groupId, user, role, authoring(clock.now))
    const newToken = async (narrowed: NewAdminToken = {}) =>
      (await createAdminToken(store, user, narrowed, authoring(clock.now))).token
    return { user, token: await newToken(), newToken }
  }

  async function newManagedGroup(input: Partial<NewGroup> = {}): Promise<ManagedGroup> {
    const group = await newGroup(input)
    const groupId = group.group.id
    const member = (role: GroupRole) => newUser({ name: `The ${role}` }, { [groupId]: role })
    const members = { owner: await member('owner'), editor: await member('editor'), viewer: await member('viewer') }
    const { owner, editor, viewer } = members
    return { ...group, groupId, members, tokens: { owner: owner.token, editor: editor.token, viewer: viewer.token } }
  }

  const { token: admin } = await newUser({ name: 'The administrator', administrator: true })

  const call: Managing['call'] = async (method, path, body, token = admin) => {
    const { payload, headers } = await encode(body)
    return app.inject({
      method,
      url: path,
      ...(payload !== undefined && { payload }),
      headers: { ...headers, ...(token !== null && { authorization: `Bearer ${token}` }) },
    })
  }

  const ask: Managing['ask'] = async (...request) => {
    const answer = await call(...request)
    assert.ok(answer.statusCode < 300, `${request[0]} ${request[1]}: ${answer.statusCode} ${answer.body}`)
    return answer.json().data
  }

  async function close(): Promise<void> {
    await created.close()
    await stripe.close()
    await server.stop()
  }

  return { ...created, admin, stripe, mailServer: server, call, ask, newUser, newManagedGroup, close }
}

/** The same, closed when the test or suite ends. */
export async function managing(engine: TestEngine, options?: Options): Promise<Managing> {
  const created = await createManaging(engine, options)
  closeAfter(created)
  return created
}
