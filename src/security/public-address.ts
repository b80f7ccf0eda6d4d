import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'

/** Of IPv4, what is private, reserved or meant for something else; the last one answers inside a cloud only. */
const special4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32`

/**
 * IPv6's addresses of the Internet, and what is special among them: Teredo and other protocols, documentation, 6to4.
 * Outside lie loopback, link-local, unique-local and multicast, and the forms in which an IPv4 address hides.
 */
const global6 = '2000::/3'
const special6 = '2001::/23 2001:db8::/32 2002::/16 3fff::/20'

function listOf(subnets: string, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const subnet of subnets.split(/\s+/)) {
    const [address = '', bits] = subnet.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

const reserved4 = listOf(special4, 'ipv4')
const internet6 = listOf(global6, 'ipv6')
const reserved6 = listOf(special6, 'ipv6')

/** Whether an address can belong to a machine of the public Internet. What is not known to be is not. */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%')) return false // an address of one network card
  switch (isIP(address)) {
    case 4:
      return !reserved4.check(address, 'ipv4')
    case 6:
      return internet6.check(address, 'ipv6') && !reserved6.check(address, 'ipv6')
    default:
      return false
  }
}

/** This machine itself. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** All addresses of a name. */
export async function resolveName(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, order: 'ipv4first' })
  return found.map(({ address }) => address)
}
