/** A decision as JSON. It goes out up to three times (reply, inbox, log) and is encoded once. */
import type { Decision } from '../../machines/index.ts';

const encoded = new WeakMap<Decision, string>();

export function encodeDecision(decision: Decision): string {
  const known = encoded.get(decision);
  if (known !== undefined) return known;
  const text = JSON.stringify(decision);
  encoded.set(decision, text);
  return text;
}
