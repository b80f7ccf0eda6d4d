import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'

export function createBlockList(subnets: string, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const subnet of subnets.split(/\s+/)) {
    const [address = '', bits] = subnet.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** Private, reserved and special-purpose ranges of IPv4; the last one exists inside Azure only. */
const reserved4 = createBlockList(
  `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32`,
  'ipv4',
)
/** Outside of it are loopback, link-local, unique-local and multicast, and all notations that embed an IPv4 address. */
const globalUnicast6 = createBlockList('2000::/3', 'ipv6')
/** Teredo and other protocols, documentation, 6to4. */
const reserved6 = createBlockList('2001::/23 2001:db8::/32 2002::/16 3fff::/20', 'ipv6')

/** Whether a machine of the public Internet can have this address. */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%')) return false // with a zone: link-local
  switch (isIP(address)) {
    case 4:
      return !reserved4.check(address, 'ipv4')
    case 6:
      return globalUnicast6.check(address, 'ipv6') && !reserved6.check(address, 'ipv6')
    default:
      return false
  }
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

export async function resolveName(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, order: 'ipv4first' })
  return found.map(({ address }) => address)
}
