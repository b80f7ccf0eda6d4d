import { isIP, Socket } from 'node:net'
import { raceWithAbort } from '../concurrency/race-with-abort.ts'
import { isPublicAddress, resolveName } from '../security/public-address.ts'
import type { MailServerAddress } from './server-address.ts'

/** Groups may not connect to other services through us. */
const mailPorts: readonly number[] = [25, 465, 587, 2465, 2525, 2587]

export interface ConnectOptions {
  /** `public` requires a server on the public Internet, which prevents connections into our own network. */
  hosts: 'public' | 'any'
  /** Returns all addresses of a name. Called once. */
  resolve?: ((host: string) => Promise<string[]>) | undefined
  connectMs: number
}

/** The message ends the sentence "smtp.example:587 …". */
export class ServerUnreachable extends Error {}

async function findAddresses(
  { host, port }: MailServerAddress,
  { hosts, resolve = resolveName }: ConnectOptions,
  signal: AbortSignal,
): Promise<string[]> {
  if (hosts === 'public' && !mailPorts.includes(port))
    throw new ServerUnreachable(`has none of the ports of mail servers (${mailPorts.join(', ')})`)
  const addresses = isIP(host) ? [host] : await raceWithAbort(resolve(host), signal)
  if (hosts === 'public' && !(addresses.length > 0 && addresses.every(isPublicAddress)))
    throw new ServerUnreachable('is not on the public Internet')
  return addresses
}

/** Nodemailer resets the timeout of its socket at each step; on this one only we can set it. */
export class MailSocket extends Socket {
  override setTimeout(): this {
    return this
  }

  /** Emits `timeout` when no byte is transferred for this long, also below TLS. 0 turns it off. */
  setIdleTimeout(timeoutMs: number): void {
    super.setTimeout(timeoutMs)
  }
}

/** Connects to an address that was checked, even if the name resolves to another one later. */
export async function connectToServer(
  server: MailServerAddress,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<MailSocket> {
  const { connectMs } = options
  const addresses = await findAddresses(server, options, signal)
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = new MailSocket().connect({
    host: server.host,
    port: server.port,
    autoSelectFamily: true, // tries one address after the other
    lookup: (_host, _options, done) => done(null, found),
  })
  const onAbort = () => reject(signal.reason)
  const onTimeout = () => reject(new ServerUnreachable(`could not be reached within ${connectMs / 1000} seconds`))
  const timer = setTimeout(onTimeout, connectMs)
  socket.once('connect', resolve)
  socket.once('error', reject)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    await promise
    return socket
  } catch (error) {
    socket.on('error', () => {})
    socket.destroy()
    throw error
  } finally {
    clearTimeout(timer)
    socket.off('error', reject)
    signal.removeEventListener('abort', onAbort)
  }
}
