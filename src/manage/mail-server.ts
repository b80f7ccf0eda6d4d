import type { Static } from 'typebox'
import { deliverableAddress, maxAddressLength } from '../content/email.ts'
import { toIso } from '../content/moments.ts'
import { invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { type MailServerAddress, parseMailServer } from '../mail/server-address.ts'
import {
  findMailServer,
  mailServerField,
  mailServerSubject,
  putMailServer,
  removeMailServer,
} from '../store/mail/mail-servers.ts'
import { done, doneShape, moment, orNull, secret } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

export const mailServerShape = Type.Object({
  owner: Type.Enum(['group', 'service', 'mailbox'], {
    description: 'Whose server sends the group’s e-mails; `mailbox`: none, they are stored in a folder of the service.',
  }),
  from: Type.String({ description: 'The sender address of the e-mails.' }),
  host: orNull(Type.String({ description: 'The host of the service’s own server is shown to administrators only.' })),
  port: orNull(Type.Integer()),
  tls: orNull(Type.String({ description: 'Implicit, `required` or `optional` by STARTTLS, or `off`.' })),
  updatedAt: orNull(moment),
})

function readAddress(smtpUrl: string): MailServerAddress {
  try {
    return parseMailServer(smtpUrl)
  } catch (error) {
    throw invalid(`smtpUrl ${(error as Error).message}.`)
  }
}

async function show({ content, mail, actor }: GroupContext): Promise<Static<typeof mailServerShape>> {
  const own = await findMailServer(content)
  if (own) {
    const { fromAddress: from, host, port, tls, updatedMs } = own
    return { owner: 'group', from, host, port, tls, updatedAt: toIso(updatedMs) }
  }
  const nothing = { host: null, port: null, tls: null }
  const shown = (actor.administrator && mail.serviceServer) || nothing
  const owner = mail.mailbox ? 'mailbox' : 'service'
  return { owner, from: await mail.senderOf(content), ...shown, updatedAt: null }
}

export const mailServerVerbs = [
  defineGroupVerb({
    name: 'mail-server show',
    summary: 'Show which mail server sends a group’s e-mails',
    input: {},
    answer: mailServerShape,
    run: ({ ctx }) => show(ctx),
  }),
  defineGroupVerb({
    name: 'mail-server set',
    args: ['from'],
    summary: 'Send a group’s e-mails through its own mail server',
    description:
      'Tries to connect and log in before the setting is stored. The URL is stored sealed, with user and password, and never shown again.',
    input: {
      from: Type.String({
        minLength: 3,
        maxLength: maxAddressLength,
        description: 'The sender address, to which undeliverable e-mails bounce.',
        examples: ['hello@shop.example'],
      }),
      smtpUrl: secret(
        'The URL of the server: smtp://user:password@smtp.example.com:587 (with STARTTLS) or smtps://….',
        'GROUP_SMTP_URL',
      ),
    },
    answer: mailServerShape,
    async run({ ctx, input }) {
      const fromAddress = deliverableAddress(input.from)
      if (fromAddress === undefined) throw invalid('from must be one e-mail address such as hello@shop.example.')
      if (ctx.mail.isOfService(fromAddress))
        throw invalid('from must be in a domain of your own: that one belongs to this service.')
      const address = readAddress(input.smtpUrl)
      const problem = await ctx.mail.probeServer(address)
      if (problem !== undefined) throw invalid(`The mail server cannot be used: ${problem}`)
      await ctx.confirm()
      const { host, port, tls } = address
      await ctx.write(async (writer) => {
        await ctx.mail.vault.put(writer, mailServerSubject, mailServerField, input.smtpUrl)
        await putMailServer(writer, { fromAddress, host, port, tls })
      })
      return show(ctx)
    },
  }),
  defineGroupVerb({
    name: 'mail-server remove',
    summary: 'Remove a group’s own mail server; the server of the service sends its e-mails again',
    input: {},
    answer: doneShape,
    async run({ ctx }) {
      const isRemoved = await ctx.write(removeMailServer)
      if (!isRemoved) throw notFound('This group has no mail server of its own.')
      return done
    },
  }),
]
