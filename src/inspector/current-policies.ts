/** The policies in force as YAML to edit: the latest `policy.set` entry in the format of stopgate.yaml. */
import { stringify } from 'yaml';
import { readJson } from '../../machines/index.ts';
import type { EventLog } from '../nats/log/event-log.ts';

/** `seq` is the entry that set the policies. Null if none was ever set; `text` is then an example. */
export type CurrentPolicies = { readonly seq: number | null; readonly text: string };

const example = 'policies:\n  default:\n    checks:\n      - plan: {}\n';

export async function readCurrentPolicies(log: Pick<EventLog, 'newest'>, fleet: string): Promise<CurrentPolicies> {
  const [newest] = await log.newest(`stopgate.${fleet}.own.fleet.${fleet}.policy.set`, 1, null);
  const read = newest === undefined ? null : readJson(new TextDecoder().decode(newest.data));
  if (newest === undefined || read?.ok !== true) return { seq: null, text: example };
  return { seq: newest.seq, text: stringify(read.value) };
}
