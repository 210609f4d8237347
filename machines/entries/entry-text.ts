/** Entries as short texts, for the command line and the inspector. */
import { isDone } from '../policy/plan.ts';
import type { Entry } from './index.ts';

/** The service's own frequent entries, which say nothing about a worker or a task. */
export const isHousekeeping = (type: string): boolean => type === 'replica.joined' || type === 'timer.fired';

type Fields = Readonly<Record<string, unknown>>;
export const isFields = (data: unknown): data is Fields => typeof data === 'object' && data !== null;

/** The fields that tell most about an entry of a type, in the order in which they are shown. Without a row: all. */
const shownFields: Readonly<Partial<Record<Entry['type'], readonly string[]>>> = {
  'worker.registered': ['agent', 'profile', 'policy', 'queue'],
  'heartbeat.sent': [],
  'prompt.submitted': ['text'],
  'tool.started': ['tool'],
  'step.updated': ['step', 'status', 'title'],
  'task.claimed': ['task'],
  'task.completed': ['task', 'result'],
  'task.failed': ['task', 'reason'],
  'task.released': ['task'],
  'background.started': ['kind', 'id'],
  'background.finished': ['kind', 'id'],
  'input.requested': ['kind', 'tool', 'detail', 'message'],
  'input.received': ['kind', 'message'],
  'limit.reached': ['scope', 'until'],
  'limit.cleared': ['scope'],
  'stop.attempted': ['attempt', 'stopReason', 'output'],
  'session.ended': ['reason'],
  'task.created': ['title', 'queue'],
  'task.cancelled': ['reason'],
  'hook.registered': ['hook', 'type', 'name'],
  'hook.enabled': ['hook'],
  'hook.disabled': ['hook'],
  'hook.unregistered': ['hook'],
  'iteration.started': ['iteration', 'maxIterations'],
  'iteration.completed': ['iteration', 'promise'],
  'checkpoint.saved': ['checkpoint', 'phase', 'step'],
  'attempt.accepted': ['attempt', 'replica'],
  'check.started': ['check'],
  'check.finished': ['check', 'outcome', 'reason'],
  'timer.fired': ['timer'],
  'escalation.resolved': ['verdict', 'by', 'prompt'],
  'escalation.acknowledged': ['by'],
  'escalation.notified': ['count', 'delivery'],
  'input.answered': ['verdict', 'by', 'message'],
  'worker.retired': ['by'],
  'replica.joined': ['replica'],
  'replica.left': ['replica'],
  'rules.set': ['version'],
};
// A Map, since the type is the sender's: `constructor` is no row.
const fieldsByType: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(shownFields));

/**
 * The fields of an entry as text; '' if its type says all. May contain control characters.
 * @param separator between fields; a terminal shows two spaces as a gap, a page as one space
 */
export function describeEntry(type: string, data: unknown, separator = '  '): string {
  if (!isFields(data)) return `no JSON object: ${String(data)}`;
  if (type === 'tool.used') return describeTool(data);
  if (type === 'usage.reported') return describeUsage(data, separator);
  if (type === 'plan.updated' && Array.isArray(data.steps)) {
    const done = data.steps.filter((step) => isDone({ title: '', status: '', ...(step as object) }));
    return `${done.length} of ${data.steps.length} steps done`;
  }
  if (type === 'policy.set') return `policies ${Object.keys((data.policies ?? {}) as object).join(', ') || 'none'}`;
  const names = fieldsByType.get(type);
  if (names === undefined) return Object.keys(data).length === 0 ? '' : JSON.stringify(data);
  return names
    .filter((name) => data[name] !== undefined && data[name] !== null)
    .map((name) => toText(data[name]))
    .join(separator);
}

function describeTool({ tool, ok, files }: Fields): string {
  const outcome = ok === undefined ? '' : ok === true ? ' (ok)' : ' (failed)';
  const changed = Array.isArray(files) && files.length > 0 ? `, files ${files.join(' ')}` : '';
  return `${toText(tool)}${outcome}${changed}`;
}

/** Named, since they are numbers: `m-1  input 400  usd 0.5`. */
function describeUsage({ model, ...amounts }: Fields, separator: string): string {
  const named = ['input', 'output', 'cacheRead', 'cacheWrite', 'usd']
    .filter((name) => typeof amounts[name] === 'number' && amounts[name] !== 0)
    .map((name) => `${name} ${toText(amounts[name])}`);
  return [...(model === undefined ? [] : [toText(model)]), ...named].join(separator);
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
