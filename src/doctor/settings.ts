import { isIP } from 'node:net'
import type { Config } from '../config/config.ts'
import { createBlockList, isLoopback } from '../security/public-address.ts'
import { attention, type Check, type Finding, wrong } from './check.ts'

const privateNetworks = [
  createBlockList('127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16', 'ipv4'),
  createBlockList('::1/128 fc00::/7 fe80::/10', 'ipv6'),
]

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** Whether the public can reach a host, judged by its name. */
export function isPublicHost(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  const family = isIP(bare) === 4 ? 'ipv4' : 'ipv6'
  if (isIP(bare) !== 0) return !privateNetworks.some((networks) => networks.check(bare, family))
  return bare.includes('.') && !/\.(local|localhost|internal|lan|test|home\.arpa)$/.test(bare)
}

function adviseAddress({ host, publicUrl }: Config): Finding[] {
  if (!isWildcard(host) || publicUrl !== undefined) return []
  return attention({
    what: `HOST is ${host} and PUBLIC_URL is not set, so the URLs of media work on this machine only.`,
    advice: 'Set PUBLIC_URL to the URL under which clients reach the service:',
    commands: ['PUBLIC_URL=https://content.example.com'],
  })
}

function adviseEncryption({ publicUrl }: Config): Finding[] {
  const url = publicUrl === undefined ? null : URL.parse(publicUrl)
  if (url?.protocol !== 'http:' || !isPublicHost(url.hostname)) return []
  return attention({
    what: `PUBLIC_URL is ${publicUrl}: keys, tokens and content are sent unencrypted.`,
    advice: 'Put a proxy with TLS in front, and set the URL that it serves:',
    commands: [`PUBLIC_URL=https://${url.host}`],
  })
}

function adviseManagement({ host, publicUrl, managePort }: Config): Finding[] {
  const isPublic = !isLoopback(host) || (publicUrl !== undefined && isPublicHost(new URL(publicUrl).hostname))
  if (managePort !== undefined || !isPublic) return []
  return attention({
    what: 'The management API answers on the same port as the delivery API, and others can reach that port.',
    advice: 'Give it a port that only you can reach, or MANAGE_PORT=off to manage from this terminal only:',
    commands: ['MANAGE_PORT=4001 MANAGE_HOST=127.0.0.1'],
  })
}

function findSharedPort({ host, port, managePort, manageHost = host }: Config): Finding[] {
  const isSameAddress = host === manageHost || isWildcard(host) || isWildcard(manageHost)
  if (port === 0 || managePort !== port || !isSameAddress) return []
  return wrong({
    what: `PORT and MANAGE_PORT are both ${port}: the second of them cannot listen, and the service will not start.`,
    advice: 'Set another MANAGE_PORT, or unset it to serve both on one port:',
    commands: [`MANAGE_PORT=${port + 1}`],
  })
}

function adviseIdleSetting({ managePort, manageHost }: Config): Finding[] {
  if (manageHost === undefined || typeof managePort === 'number') return []
  return attention({
    what: 'MANAGE_HOST has no effect, because MANAGE_PORT is not set to a port.',
    advice: 'Set a port for the management API:',
    commands: ['MANAGE_PORT=4001'],
  })
}

function adviseMetrics({ metricsPort, metricsHost, metricsToken }: Config): Finding[] {
  if (metricsPort === undefined || metricsToken !== undefined || isLoopback(metricsHost)) return []
  return attention({
    what: `METRICS_HOST is ${metricsHost} and METRICS_TOKEN is not set: anyone who can reach that port can read the load of the service.`,
    advice: 'Set a token that Prometheus sends, unless a firewall keeps others away:',
    commands: ['METRICS_TOKEN=$(openssl rand -hex 32)'],
  })
}

/** Every command has already validated each setting; this checks their combinations. */
export const settingsCheck: Check = {
  name: 'Settings',
  async run({ config }) {
    const rules = [adviseAddress, adviseEncryption, adviseManagement, findSharedPort, adviseIdleSetting, adviseMetrics]
    return rules.flatMap((rule) => rule(config))
  },
}
