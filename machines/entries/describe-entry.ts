/** Short descriptions of entries, for the command line and the inspector. */
import { describeGrant } from '../policy/budget.ts';
import { isDone } from '../policy/plan.ts';
import { readFields as readToolInput } from '../values/questions.ts';
import { formatDuration } from '../values/time.ts';
import type { Entry } from './index.ts';

/** Frequent entries of the service that say nothing about a worker or task. */
export const isHousekeeping = (type: string): boolean => type === 'replica.joined' || type === 'timer.fired';

type Fields = Readonly<Record<string, unknown>>;
export const isFields = (data: unknown): data is Fields => typeof data === 'object' && data !== null;

/** The fields to show for each type, in order. Types without a row show all their fields. */
const shownFields: Readonly<Partial<Record<Entry['type'], readonly string[]>>> = {
  'worker.registered': ['agent', 'profile', 'policy', 'queue'],
  'heartbeat.sent': [],
  'prompt.submitted': ['by', 'text'],
  'tool.started': ['tool'],
  'step.updated': ['step', 'status', 'title'],
  'task.claimed': ['task'],
  'task.completed': ['task', 'result'],
  'task.failed': ['task', 'reason'],
  'task.released': ['task'],
  'background.started': ['kind', 'id', 'command'],
  'background.finished': ['kind', 'id'],
  'input.requested': ['kind', 'tool', 'detail', 'message'],
  'input.received': ['kind', 'message'],
  'limit.reached': ['scope', 'until'],
  'limit.cleared': ['scope'],
  'stop.attempted': ['attempt', 'stopReason', 'output'],
  'session.ended': ['reason'],
  'task.created': ['title', 'queue', 'priority'],
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
  'escalation.resolved': ['verdict', 'by', 'grant', 'prompt'],
  'escalation.acknowledged': ['by'],
  'escalation.notified': ['count', 'delivery'],
  'input.answered': ['verdict', 'by', 'message'],
  'worker.retired': ['by'],
  'replica.joined': ['replica'],
  'replica.left': ['replica'],
  'rules.set': ['version'],
};
// A Map, because the sender chooses the type: looking up `constructor` must find nothing.
const fieldsByType: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(shownFields));

/**
 * Describes the fields of an entry; '' if the type alone says it all. The text may contain control characters.
 * @param separator goes between fields; a terminal shows two spaces as a gap, a web page as one space
 */
export function describeEntry(type: string, data: unknown, separator = '  '): string {
  if (!isFields(data)) return `not a JSON object: ${String(data)}`;
  if (type === 'tool.used') return describeTool(data);
  if (type === 'worker.moved') return `to ${toText(data.cwd)}`;
  if (type === 'worker.paused') return `by ${toText(data.by)}, ${describeLength(data.forMs)}`;
  if (type === 'worker.unpaused') return `by ${toText(data.by)}`;
  if (type === 'usage.reported') return describeUsage(data, separator);
  if (type === 'plan.updated' && Array.isArray(data.steps)) {
    const done = data.steps.filter((step) => isDone({ title: '', status: '', ...(step as object) }));
    return `${done.length} of ${data.steps.length} steps done`;
  }
  if (type === 'policy.set') return `policies ${Object.keys((data.policies ?? {}) as object).join(', ') || 'none'}`;
  const names = fieldsByType.get(type);
  if (names === undefined) return Object.keys(data).length === 0 ? '' : JSON.stringify(data);
  return (
    names
      .filter((name) => data[name] !== undefined && data[name] !== null)
      // With `stop`, nothing is granted.
      .filter((name) => name !== 'grant' || data.verdict === 'resume')
      .map((name) => describeField(name, data[name]))
      .join(separator)
  );
}

function describeField(name: string, value: unknown): string {
  if (name === 'detail') return describeInput(value);
  return (name === 'grant' ? describeGrant(value) : null) ?? toText(value);
}

/** Shows a tool's input without the JSON punctuation. */
function describeInput(detail: unknown): string {
  const fields = typeof detail === 'string' ? readToolInput(detail) : null;
  if (fields === null) return toText(detail);
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${toText(value)}`)
    .join(', ');
}

function describeTool({ tool, ok, files }: Fields): string {
  const outcome = ok === undefined ? '' : ok === true ? ' (ok)' : ' (failed)';
  const changed = Array.isArray(files) && files.length > 0 ? `, files ${files.join(' ')}` : '';
  return `${toText(tool)}${outcome}${changed}`;
}

/** Describes how long a pause holds. The entry may have been refused, so `forMs` can be anything. */
const describeLength = (forMs: unknown): string =>
  forMs === undefined
    ? 'until the session ends'
    : `for ${typeof forMs === 'number' && forMs >= 0 ? formatDuration(forMs) : toText(forMs)}`;

/** Names each amount: `m-1  input 400  usd 0.5`. */
function describeUsage({ model, ...amounts }: Fields, separator: string): string {
  const named = ['input', 'output', 'cacheRead', 'cacheWrite', 'usd']
    .filter((name) => typeof amounts[name] === 'number' && amounts[name] !== 0)
    .map((name) => `${name} ${amountText(amounts[name] as number)}`);
  return [...(model === undefined ? [] : [toText(model)]), ...named].join(separator);
}

/** An agent may report the difference of two sums: `0.0006000000000000001`. Sums are in billionths of a dollar. */
const amountText = (amount: number): string => {
  const text = amount.toFixed(9);
  return text.includes('e') ? text : text.replace(/\.?0+$/, '');
};

const toText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
