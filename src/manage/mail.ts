import { deliverableAddress, maxAddressLength } from '../content/email.ts'
import { messageKinds, messageStates } from '../content/mail.ts'
import { conflict, invalid, notFound } from '../errors.ts'
import { limitParameter, skipParameter } from '../http/parameters.ts'
import type { ContentWriter } from '../store/changes.ts'
import type { GroupStore } from '../store/groups.ts'
import { cancelJob } from '../store/jobs.ts'
import {
  endMessage,
  findMessage,
  insertMessage,
  listMessages,
  type Message,
  restartMessage,
} from '../store/messages.ts'
import { takeFromMailQuota } from '../store/tallies.ts'
import { Type } from '../type.ts'
import { messageShape, showMessage, shownSender, wholeMessageShape } from './mail-shapes.ts'
import { id, listOf } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const mailId = id('The e-mail’s _id.')

async function takeMessage(group: GroupStore, wantedId: string): Promise<Message> {
  const message = await findMessage(group, wantedId)
  if (!message)
    throw notFound('There is no such e-mail in this group. What was sent is kept for 30 days, what failed for 90.')
  return message
}

/** From here on nobody begins to deliver it. Refuses where somebody has begun. */
async function stopDelivery(writer: ContentWriter, { id: messageId, jobId }: Message): Promise<void> {
  if (await cancelJob(writer, jobId)) return
  const { isUnderWay } = await takeMessage(writer.group, messageId)
  if (isUnderWay) throw conflict('This e-mail is being delivered right now. Try again in a moment.')
}

async function retry(writer: ContentWriter, wantedId: string) {
  const message = await takeMessage(writer.group, wantedId)
  if (message.state === 'sent') throw conflict('This e-mail was sent. To send it twice, send another.')
  await stopDelivery(writer, message)
  await restartMessage(writer, message.id)
  writer.record({ type: 'mail.retried', subjectId: message.id, note: message.kind })
  return showMessage(await takeMessage(writer.group, message.id))
}

async function cancel(writer: ContentWriter, wantedId: string) {
  const message = await takeMessage(writer.group, wantedId)
  if (message.state === 'sent' || message.state === 'cancelled')
    throw conflict(`This e-mail is ${message.state}; only one that is waiting or failed can be cancelled.`)
  await stopDelivery(writer, message)
  await endMessage(writer, message.id, 'cancelled', message.problem)
  writer.record({ type: 'mail.cancelled', subjectId: message.id, note: message.kind })
  return showMessage(await takeMessage(writer.group, message.id))
}

/** A message of nobody, to see that messages arrive. It counts like any other: a button must not be a way to send at will. */
async function sendTest({ group, mail, write }: GroupContext, recipient: string) {
  return write(async (writer) => {
    await takeFromMailQuota(writer, mail.dailyLimits[group.tier])
    const sentId = await insertMessage(writer, {
      kind: 'contact',
      recipient,
      replyTo: null,
      subject: 'Test e-mail',
      content: {
        siteName: group.name,
        title: 'It works',
        subtitle: 'This e-mail was sent to see whether e-mails arrive.',
      },
      sender: await mail.senderOf(writer.group),
    })
    writer.record({ type: 'mail.tested', subjectId: sentId })
    return showMessage(await takeMessage(writer.group, sentId))
  })
}

export const mailVerbs = [
  defineGroupVerb({
    name: 'mail list',
    summary: 'Show the e-mails of a group, newest first',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/mail',
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
    summary: 'Show one e-mail with its words, and why it was not delivered',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/mail/:mailId',
    input: {
      mailId,
      html: Type.Optional(Type.Boolean({ description: 'Show its markup as well.' })),
    },
    answer: wholeMessageShape,
    async run({ ctx, input }) {
      const message = await takeMessage(ctx.content, input.mailId)
      const { from, text, html } = await ctx.mail.render(ctx.group, ctx.content, message)
      return { ...showMessage(message), from: shownSender(from), text, ...(input.html && { html }) }
    },
  }),
  defineGroupVerb({
    name: 'mail retry',
    summary: 'Deliver at once what waits, has failed or was cancelled',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/mail/:mailId/retry',
    input: { mailId },
    answer: messageShape,
    run: ({ ctx, input }) => ctx.write((writer) => retry(writer, input.mailId)),
  }),
  defineGroupVerb({
    name: 'mail cancel',
    summary: 'Give up an e-mail that waits or has failed',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/mail/:mailId/cancel',
    input: { mailId },
    answer: messageShape,
    run: ({ ctx, input }) => ctx.write((writer) => cancel(writer, input.mailId)),
  }),
  defineGroupVerb({
    name: 'mail test',
    args: ['to'],
    isCreation: true,
    summary: 'Send an e-mail to see whether e-mails arrive',
    description: 'It waits in the outbox like any other, and counts into what the group may send in a day.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/mail/test',
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
