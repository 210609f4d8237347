/** The policies in force as a text to edit: the latest `policy.set`, in the form of stopgate.yaml. */
import { stringify } from 'yaml';
import { readJson } from '../../machines/index.ts';
import type { EventLog } from '../nats/log/event-log.ts';

/** `seq` is the entry that set them; null: none was ever set. */
export type CurrentPolicies = { readonly seq: number | null; readonly text: string };

const example = 'policies:\n  default:\n    checks:\n      - plan: {}\n';

export async function readCurrentPolicies(log: Pick<EventLog, 'newest'>, fleet: string): Promise<CurrentPolicies> {
  const [newest] = await log.newest(`stopgate.${fleet}.own.fleet.${fleet}.policy.set`, 1, null);
  const read = newest === undefined ? null : readJson(new TextDecoder().decode(newest.data));
  if (newest === undefined || read?.ok !== true) return { seq: null, text: example };
  return { seq: newest.seq, text: stringify(read.value) };
}
