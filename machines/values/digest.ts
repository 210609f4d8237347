/** Digests and hashes. They must never change between releases, because states contain them. */

/**
 * Digests texts to 53 bits, so that the result is an exact number: two FNV-like hashes with different factors, mixed
 * into each other. Not cryptographic: collisions are easy to construct.
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

// Base64 and UTF-8, with the functions that browsers and Node have in common.

type Runtime = {
  readonly atob: (base64: string) => string;
  readonly TextDecoder: new () => { decode(bytes: Uint8Array): string };
};
// These files are compiled without the types of any runtime.
const { atob, TextDecoder } = globalThis as unknown as Runtime;

/** Returns null for invalid base64. */
export function fromBase64(base64: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
  } catch {
    return null;
  }
}

const decoder = new TextDecoder();

/** Decodes a payload; bytes that are not UTF-8 become U+FFFD (protocol.md §2). */
export const decodeUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes);
