/** A hash for rendezvous hashing: what many processes must agree on without asking each other. Not for secrets. */

/** FNV-1a, mixed once more, since short keys that differ at the end would else stay in order. From 0 to 2^32 - 1. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
