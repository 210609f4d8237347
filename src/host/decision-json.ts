/** A decision as the bytes of its JSON. They go out up to three times (reply, inbox, log) and are made once. */
import type { Decision } from '../../machines/index.ts';

const encoded = new WeakMap<Decision, Uint8Array>();

export function encodeDecision(decision: Decision): Uint8Array {
  const known = encoded.get(decision);
  if (known !== undefined) return known;
  const bytes = Buffer.from(JSON.stringify(decision));
  encoded.set(decision, bytes);
  return bytes;
}
