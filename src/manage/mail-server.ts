import type { Static } from 'typebox'
import { deliverableAddress, maxAddressLength } from '../content/email.ts'
import { toIso } from '../content/moments.ts'
import { invalid, notFound } from '../errors.ts'
import { type MailServerAddress, parseMailServer } from '../mail/server-address.ts'
import {
  findMailServer,
  mailServerField,
  mailServerSubject,
  putMailServer,
  removeMailServer,
} from '../store/mail-servers.ts'
import { Type } from '../type.ts'
import { mailServerShape } from './mail-shapes.ts'
import { done, doneShape, secret } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const route = '/manage/groups/:groupId/mailServer'

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
    summary: 'Show which mail server takes a group’s e-mails',
    needs: 'viewer',
    route: `GET ${route}`,
    input: {},
    answer: mailServerShape,
    run: ({ ctx }) => show(ctx),
  }),
  defineGroupVerb({
    name: 'mail-server set',
    args: ['from'],
    summary: 'Send a group’s e-mails through a mail server of its own',
    description:
      'The server is connected to and logged in at before it is kept. Its address is kept sealed, with user and password, and these are never shown again.',
    needs: 'owner',
    route: `PUT ${route}`,
    input: {
      from: Type.String({
        minLength: 3,
        maxLength: maxAddressLength,
        description: 'The address that e-mails come from, and to which what cannot be delivered comes back.',
        examples: ['hello@shop.example'],
      }),
      smtpUrl: secret(
        'The address of the server: smtp://user:password@smtp.example.com:587 (with STARTTLS) or smtps://….',
        'GROUP_SMTP_URL',
      ),
    },
    answer: mailServerShape,
    async run({ ctx, input }) {
      const fromAddress = deliverableAddress(input.from)
      if (fromAddress === undefined) throw invalid('from must be one e-mail address such as hello@shop.example.')
      if (ctx.mail.isOfService(fromAddress))
        throw invalid(
          'from must be of a domain of your own: this service itself sends e-mails in the name of that one.',
        )
      const address = readAddress(input.smtpUrl)
      const problem = await ctx.mail.tryServer(address)
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
    summary: 'Forget a group’s own mail server; its e-mails go the way of all others',
    needs: 'owner',
    route: `DELETE ${route}`,
    input: {},
    answer: doneShape,
    async run({ ctx }) {
      const isRemoved = await ctx.write(removeMailServer)
      if (!isRemoved) throw notFound('This group has no mail server of its own.')
      return done
    },
  }),
]
