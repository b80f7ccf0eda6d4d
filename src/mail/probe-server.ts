import type { MailServerAddress } from './server-address.ts'
import { createSmtpTransport, type SmtpOptions } from './smtp.ts'
import { DeliveryFailure } from './transport.ts'

const tryForMs = 20_000

/** Connects to a mail server, proves who we are, and sends nothing. Says why that went wrong, where it did. */
export async function probeServer(address: MailServerAddress, options: SmtpOptions): Promise<string | undefined> {
  const transport = createSmtpTransport(address, options)
  const signal = AbortSignal.timeout(tryForMs)
  try {
    await transport.verify(signal)
    return undefined
  } catch (error) {
    if (signal.aborted) return `it did not answer within ${tryForMs / 1000} seconds.`
    if (error instanceof DeliveryFailure) return error.message
    throw error
  } finally {
    transport.close()
  }
}
