import type { Static } from 'typebox'
import { deliverableAddress, maxAddressLength } from '../content/email.ts'
import { messageKinds, messageStates } from '../content/mail.ts'
import { toIso } from '../content/moments.ts'
import { conflict, invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { limitParameter, skipParameter } from '../http/query.ts'
import type { Mail } from '../mail/types.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { cancelJob } from '../store/jobs/jobs.ts'
import {
  endMessage,
  findMessage,
  insertMessage,
  listMessages,
  type Message,
  type MessageHead,
  restartMessage,
} from '../store/mail/messages.ts'
import { consumeMailQuota } from '../store/mail/quotas.ts'
import type { GroupStore } from '../store/store.ts'
import { id, isoOrNull, listOf, moment, orNull, ownId } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

export const messageShape = Type.Object({
  _id: ownId,
  state: Type.Enum([...messageStates], {
    description: '`waiting` to be delivered, `sent`: accepted by the mail server, `failed` for good, or `cancelled`.',
  }),
  kind: Type.Enum([...messageKinds]),
  recipient: Type.String(),
  replyTo: orNull(Type.String()),
  subject: Type.String(),
  attempts: Type.Integer({ description: 'How many deliveries were attempted.' }),
  delivering: Type.Boolean({ description: 'Whether it is being delivered right now.' }),
  nextAttemptAt: orNull(moment),
  problem: orNull(Type.String({ description: 'Why the latest attempt failed.' })),
  messageId: Type.String({ description: 'Its Message-ID, the same in each attempt.' }),
  createdAt: moment,
  endedAt: orNull(moment),
})

export function showMessage(message: MessageHead): Static<typeof messageShape> {
  const { id: _id, state, kind, recipient, replyTo, subject, attempts, isUnderWay, dueMs, problem } = message
  return {
    _id,
    state,
    kind,
    recipient,
    replyTo,
    subject,
    attempts,
    delivering: isUnderWay,
    nextAttemptAt: isUnderWay ? null : isoOrNull(dueMs),
    problem,
    messageId: `<${message.messageId}>`,
    createdAt: toIso(message.createdMs),
    endedAt: isoOrNull(message.endedMs),
  }
}

export const wholeMessageShape = Type.Object({
  ...messageShape.properties,
  from: Type.String(),
  text: Type.String({ description: 'Its plain text as it would be sent now.' }),
  html: Type.Optional(Type.String({ description: 'Its HTML, if requested.' })),
})

/** The From header. */
export const shownSender = ({ name, address }: Awaited<ReturnType<Mail['render']>>['from']): string =>
  name === '' ? address : `${name} <${address}>`

const mailId = id('The e-mail’s _id.')

async function requireMessage(group: GroupStore, wantedId: string): Promise<Message> {
  const message = await findMessage(group, wantedId)
  if (!message)
    throw notFound('There is no such e-mail in this group. Sent e-mails are kept for 30 days, failed ones for 90.')
  return message
}

/** Cancels the delivery job; refuses if the delivery has begun. */
async function stopDelivery(writer: ContentWriter, { id: messageId, jobId }: Message): Promise<void> {
  if (await cancelJob(writer, jobId)) return
  const { isUnderWay } = await requireMessage(writer.group, messageId)
  if (isUnderWay) throw conflict('This e-mail is being delivered right now. Try again in a moment.')
}

async function retry(writer: ContentWriter, wantedId: string) {
  const message = await requireMessage(writer.group, wantedId)
  if (message.state === 'sent') throw conflict('This e-mail was sent already. To send it again, send a new one.')
  await stopDelivery(writer, message)
  await restartMessage(writer, message.id)
  writer.record({ type: 'mail.retried', subjectId: message.id, note: message.kind })
  return showMessage(await requireMessage(writer.group, message.id))
}

async function cancel(writer: ContentWriter, wantedId: string) {
  const message = await requireMessage(writer.group, wantedId)
  if (message.state === 'sent' || message.state === 'cancelled')
    throw conflict(`This e-mail is ${message.state}; only one that is waiting or failed can be cancelled.`)
  await stopDelivery(writer, message)
  await endMessage(writer, message.id, 'cancelled', message.problem)
  writer.record({ type: 'mail.cancelled', subjectId: message.id, note: message.kind })
  return showMessage(await requireMessage(writer.group, message.id))
}

/** A test message counts towards the quota like any other. */
async function sendTest({ group, mail, write }: GroupContext, recipient: string) {
  return write(async (writer) => {
    await consumeMailQuota(writer, mail.dailyLimits[group.tier])
    const sentId = await insertMessage(writer, {
      kind: 'contact',
      recipient,
      replyTo: null,
      subject: 'Test e-mail',
      content: {
        siteName: group.name,
        title: 'It works',
        subtitle: 'This e-mail was sent to test whether e-mails arrive.',
      },
      sender: await mail.senderOf(writer.group),
    })
    writer.record({ type: 'mail.tested', subjectId: sentId })
    return showMessage(await requireMessage(writer.group, sentId))
  })
}

export const mailVerbs = [
  defineGroupVerb({
    name: 'mail list',
    summary: 'Show the e-mails of a group, newest first',
    input: {
      state: Type.Optional(Type.Enum([...messageStates], { description: 'Only those in this state.' })),
      kind: Type.Optional(Type.Enum([...messageKinds], { description: 'Only those of this kind.' })),
      to: Type.Optional(
        Type.String({ minLength: 1, maxLength: maxAddressLength, description: 'Only those to this address.' }),
      ),
      limit: limitParameter,
      skip: skipParameter,
    },
    answer: listOf(messageShape),
    columns: ['_id', 'state', 'kind', 'recipient', 'subject', 'attempts', 'createdAt'],
    async run({ ctx, input }) {
      const { state, kind, to, limit = 100, skip = 0 } = input
      const { messages, totalCount } = await listMessages(ctx.content, { state, kind, recipient: to, limit, skip })
      return { items: messages.map(showMessage), totalCount }
    },
  }),
  defineGroupVerb({
    name: 'mail show',
    summary: 'Show one e-mail with its text, and why it was not delivered',
    input: { mailId, html: Type.Optional(Type.Boolean({ description: 'Show its HTML as well.' })) },
    answer: wholeMessageShape,
    async run({ ctx, input }) {
      const message = await requireMessage(ctx.content, input.mailId)
      const { from, text, html } = await ctx.mail.render(ctx.group, ctx.content, message)
      return { ...showMessage(message), from: shownSender(from), text, ...(input.html && { html }) }
    },
  }),
  defineGroupVerb({
    name: 'mail retry',
    summary: 'Deliver a waiting, failed or cancelled e-mail at once',
    input: { mailId },
    answer: messageShape,
    run: ({ ctx, input }) => ctx.write((writer) => retry(writer, input.mailId)),
  }),
  defineGroupVerb({
    name: 'mail cancel',
    summary: 'Cancel a waiting or failed e-mail',
    input: { mailId },
    answer: messageShape,
    run: ({ ctx, input }) => ctx.write((writer) => cancel(writer, input.mailId)),
  }),
  defineGroupVerb({
    name: 'mail test',
    args: ['to'],
    isCreation: true,
    summary: 'Send a test e-mail',
    description: 'It waits in the outbox like any other, and counts towards the daily quota of the group.',
    input: {
      to: Type.String({
        minLength: 3,
        maxLength: maxAddressLength,
        description: 'Your own address.',
        examples: ['you@shop.example'],
      }),
    },
    answer: messageShape,
    async run({ ctx, input }) {
      const recipient = deliverableAddress(input.to)
      if (recipient === undefined) throw invalid('to must be one e-mail address such as you@shop.example.')
      return sendTest(ctx, recipient)
    },
  }),
]
