import { BlockList, isIP } from 'node:net'

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')

/** An IPv4 address in IPv6 notation as plain IPv4. */
const unmapped = (address: string): string => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const read = (part: string): number[] =>
    part.split(':').flatMap((group) => {
      if (!group.includes('.')) return group === '' ? [] : [Number.parseInt(group, 16)]
      const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
      return [a * 256 + b, c * 256 + d]
    })
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::')
  const [left, right] = [read(head), read(tail)]
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
}

/** Longer than any address; a proxy may forward any text. */
const maxAddressLength = 64

/**
 * The subject of limits for an address: an IPv4 address, also when mapped into IPv6, or an IPv6 network of 64 bits, because the
 * owner of one of its addresses has all of them.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address.slice(0, maxAddressLength)
  const groups = groupsOf(address)
  const [, , , , , marker, high = 0, low = 0] = groups
  const isMapped = marker === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

function listOf(proxies: readonly string[]): BlockList {
  const list = new BlockList()
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/')
    if (bits === undefined) list.addAddress(unmapped(address), familyOf(unmapped(address)))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return list
}

/**
 * The caller's address, the same as the framework's `request.ip`: the last one in `X-Forwarded-For` that is not a trusted proxy.
 */
export function createAddressReader(
  proxies: readonly string[],
): (peer: string, forwardedFor: string | string[] | undefined) => string {
  const trusted = listOf(proxies)
  const isTrusted = (address: string): boolean =>
    isIP(address) !== 0 && trusted.check(unmapped(address), familyOf(unmapped(address)))
  return (peer, forwardedFor) => {
    if (forwardedFor === undefined || proxies.length === 0) return peer
    const listed = String(forwardedFor)
      .split(',')
      .map((address) => address.trim())
      .filter((address) => address !== '')
    let caller = peer
    while (isTrusted(caller) && listed.length > 0) caller = listed.pop() ?? caller
    return caller
  }
}
