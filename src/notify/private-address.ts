/** Restricts webhooks to public addresses: protects this machine and the networks behind it. */
import { type LookupAddress, lookup as lookupName } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** `all`: any address. `network`: all except link-local ones. `public`: only public addresses. */
export type Reach = 'all' | 'network' | 'public';

/** Clouds keep the credentials of a machine there (169.254.169.254). No receiver uses these addresses. */
const linkLocal = listOf(['169.254.0.0', 16], ['fe80::', 10], ['fd00:ec2::254', 128]);
const inside = listOf(
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['224.0.0.0', 3],
  ] as const),
  ...([
    ['::', 127],
    ['fc00::', 7],
    ['fe80::', 10],
    ['fec0::', 10],
    ['ff00::', 8],
  ] as const),
);

/** Includes the IPv6 forms of IPv4 ranges: mapped, compatible, NAT64 and 6to4. */
function listOf(...ranges: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [address, bits] of ranges) {
    if (isIP(address) === 6) {
      list.addSubnet(address, bits, 'ipv6');
      continue;
    }
    list.addSubnet(address, bits, 'ipv4'); // and ::ffff:a.b.c.d
    list.addSubnet(`64:ff9b::${address}`, 96 + bits, 'ipv6');
    list.addSubnet(`::${address}`, 96 + bits, 'ipv6');
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
    list.addSubnet(`2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`, 16 + bits, 'ipv6');
  }
  return list;
}

/**
 * @param address an IP address, possibly with brackets or a zone. Returns false for names; check what they resolve to
 */
export function isRefused(address: string, reach: Reach): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const version = isIP(plain);
  if (version === 0 || reach === 'all') return false;
  return (reach === 'public' ? inside : linkLocal).check(plain, version === 6 ? 'ipv6' : 'ipv4');
}

export const refusedCode = 'EPRIVATE';

/** Resolves names for the connection itself, so that a name cannot resolve to something else after the check. */
export const lookupWithin =
  (reach: Reach): LookupFunction =>
  (name, options, done) =>
    lookupName(name, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error !== null) return done(error, []);
      if (found.some(({ address }) => isRefused(address, reach)))
        return done(Object.assign(new Error('a private address'), { code: refusedCode }), []);
      return options.all === true ? done(null, found) : done(null, found[0]?.address ?? '', found[0]?.family);
    });
