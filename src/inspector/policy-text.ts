/** The policies in force as a text to change: that of the newest `policy.set`, in the form of stopgate.yaml. */
import { stringify } from 'yaml';
import { readJson } from '../../machines/index.ts';
import type { EventLog } from '../nats/event-log.ts';

/** `seq` null: none was ever set. */
export type PolicyText = { readonly seq: number | null; readonly text: string };

const none = 'policies:\n  default:\n    checks:\n      - plan: {}\n';

export async function readPolicyText(log: Pick<EventLog, 'newest'>, fleet: string): Promise<PolicyText> {
  const [newest] = await log.newest(`stopgate.${fleet}.own.fleet.${fleet}.policy.set`, 1, null);
  const read = newest === undefined ? null : readJson(new TextDecoder().decode(newest.data));
  if (newest === undefined || read?.ok !== true) return { seq: null, text: none };
  return { seq: newest.seq, text: stringify(read.value) };
}
