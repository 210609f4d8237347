/** Digests and hashes. They must never change between releases, because states contain them. */

/**
 * Digests texts to 53 bits, so that the result is an exact number: two FNV-like hashes with different factors, mixed
 * into each other. Not cryptographic: collisions are easy to construct.
 */
export function digestOf(parts: readonly string[]): number {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (const text of parts) {
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      low = Math.imul(low ^ unit, 0x01000193);
      high = Math.imul(high ^ unit, 0x5bd1e995);
    }
  }
  low = mix(low ^ (high >>> 15));
  high = mix(high ^ (low >>> 13));
  return (high >>> 11) * 0x100000000 + (low >>> 0);
}

function mix(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/**
 * Hashes a text for rendezvous hashing, to a number from 0 to 2^32 - 1. Not cryptographic. FNV-1a plus one more mixing
 * step: otherwise short keys that differ only at the end would keep their order.
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
