import type { Static } from 'typebox'
import { messageKinds, messageStates } from '../content/mail.ts'
import { toIso } from '../content/moments.ts'
import type { Mail } from '../mail/mail.ts'
import type { MessageHead } from '../store/messages.ts'
import type { Suppression } from '../store/suppressions.ts'
import { Type } from '../type.ts'
import { isoOrNull, moment, orNull, ownId } from './shapes.ts'

export const messageShape = Type.Object({
  _id: ownId,
  state: Type.Enum([...messageStates], {
    description: '`waiting` to be delivered, `sent`: the mail server has taken it, `failed` for good, or `cancelled`.',
  }),
  kind: Type.Enum([...messageKinds]),
  recipient: Type.String(),
  replyTo: orNull(Type.String()),
  subject: Type.String(),
  attempts: Type.Integer({ description: 'How often its delivery was begun.' }),
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
  text: Type.String({ description: 'Its words as it would be sent now.' }),
  html: Type.Optional(Type.String({ description: 'The same as markup, where it was asked for.' })),
})

export const mailServerShape = Type.Object({
  owner: Type.Enum(['group', 'service', 'mailbox'], {
    description:
      'Whose server takes the group’s e-mails; `mailbox`: nobody’s, they are put into a folder of the service.',
  }),
  from: Type.String({ description: 'The address that e-mails come from.' }),
  host: orNull(Type.String({ description: 'That of the service is shown to administrators only.' })),
  port: orNull(Type.Integer()),
  tls: orNull(Type.String({ description: 'From the first byte, `required` or `optional` by STARTTLS, or `off`.' })),
  updatedAt: orNull(moment),
})

export const suppressionShape = Type.Object({
  address: Type.String(),
  reason: Type.String({ description: 'The mail server’s words, or those of who added it.' }),
  createdAt: moment,
})

export const showSuppression = ({ address, reason, createdMs }: Suppression): Static<typeof suppressionShape> => ({
  address,
  reason,
  createdAt: toIso(createdMs),
})

/** As it stands in the header. */
export const shownSender = ({ name, address }: Awaited<ReturnType<Mail['render']>>['from']): string =>
  name === '' ? address : `${name} <${address}>`
