/** A digest for comparing texts: the same on every replica and in every release, because states contain it. */

/**
 * 53 bits, so that it is a number: two of FNV's kind with different factors, mixed into each other. Not for secrets: two
 * texts with one hash are easy to construct.
 */
export function digestOf(parts: readonly string[]): number {
  let [low, high] = [0x811c9dc5, 0x9747b28c];
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
