import { DeliveryFailure } from './courier.ts'
import type { MailServerAddress } from './server-address.ts'
import { createSmtpCourier, type SmtpOptions } from './smtp.ts'

const tryForMs = 20_000

/** Connects to a mail server, proves who we are, and sends nothing. Says why that went wrong, where it did. */
export async function tryServer(address: MailServerAddress, options: SmtpOptions): Promise<string | undefined> {
  const courier = createSmtpCourier(address, options)
  const signal = AbortSignal.timeout(tryForMs)
  try {
    await courier.verify(signal)
    return undefined
  } catch (error) {
    if (signal.aborted) return `it did not answer within ${tryForMs / 1000} seconds.`
    if (error instanceof DeliveryFailure) return error.message
    throw error
  } finally {
    courier.close()
  }
}
