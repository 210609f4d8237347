/**
 * The current values that a shell may complete. A person waits for them after pressing Tab, so this is quick and never
 * complains.
 */
import { isId } from '../../../../machines/index.ts';
import { loadConfig } from '../../../config/config.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { connect, type Place, resolvePlace } from '../../connection.ts';

export const completionLists = ['workers', 'tasks', 'queues', 'policies', 'agents'] as const;
export type CompletionList = (typeof completionLists)[number];

const timeoutMs = 300;
/** More would not be read. */
const valuesMax = 1_000;

const hints: Readonly<Record<string, CompletionList>> = {
  ...{ W: 'workers', WORKER: 'workers', T: 'tasks', TASK: 'tasks', Q: 'queues', P: 'policies', AGENT: 'agents' },
};
/** Finds the list of a value by its name in the help; undefined: it cannot be listed. */
export const listOf = (valueHint = ''): CompletionList | undefined => hints[valueHint.replace(/…$/, '')];

/**
 * Lists the values; empty if they do not come in time. Only ids are listed: bash expands what it is given, and anyone
 * may answer on NATS.
 */
export const listValues = async (list: CompletionList, place: Place, io: Io): Promise<readonly string[]> =>
  (await findValues(list, place, io)).filter(isId);

async function findValues(list: CompletionList, place: Place, io: Io): Promise<readonly string[]> {
  if (list === 'agents') return [...(await import('../../../agents/index.ts')).agents.keys()];
  if (list === 'policies') return policiesIn(place, io).catch(() => []);
  const late = new AbortController();
  const none = new Promise<readonly string[]>((resolve) => {
    late.signal.addEventListener('abort', () => resolve([]), { once: true });
  });
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const values = askService(list, place, io, late.signal).catch(() => []);
  return Promise.race([none, values]).finally(() => clearTimeout(timer));
}

async function policiesIn({ config }: Place, { cwd, env }: Io): Promise<readonly string[]> {
  const { file } = await loadConfig({ flags: { config, http: 'off' }, cwd, env });
  return [...new Set(['default', ...file.policySet.policies.keys()])];
}

async function askService(list: CompletionList, place: Place, io: Io, late: AbortSignal): Promise<readonly string[]> {
  const requester = await connect(await resolvePlace(place, io));
  late.addEventListener('abort', () => void requester.close().catch(() => undefined), { once: true });
  try {
    if (late.aborted) return [];
    const page = await requester.request('list', list, { limit: valuesMax }, timeoutMs);
    const { items } = page as { items: readonly Record<string, unknown>[] };
    return items.map((item) => String(item[list.slice(0, -1)]));
  } finally {
    await requester.close();
  }
}
