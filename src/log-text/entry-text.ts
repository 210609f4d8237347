/** Entries in words, for whoever shows the log: the command line and the inspector. */
import { formatIsoTime, isDone, readJson } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';

/** As `replay` reads it. `data` is the text itself where it is no JSON object. */
export type LogLine = { readonly at: string; readonly subject: string; readonly data: unknown; readonly seq: number };

export function toLogLine({ atMs, subject, data, seq }: LogMessage): LogLine {
  const text = new TextDecoder().decode(data);
  const parsed = readJson(text);
  return { at: formatIsoTime(atMs), subject, data: parsed.ok ? parsed.value : text, seq };
}

/** What the message is about: `worker`, `w1`, `tool.used`. */
export function placeOf(subject: string): { readonly entity: string; readonly id: string; readonly type: string } {
  const [, , ...tail] = subject.split('.');
  const [entity = '', id = '', ...type] = tail[0] === 'own' ? tail.slice(1) : tail;
  return entity === 'decision' ? { entity: 'worker', id, type: 'decision' } : { entity, id, type: type.join('.') };
}

/** Under which subjects a worker or task stands in the log, each without `stopgate.<fleet>.`. */
export function tailsAbout(entity: 'worker' | 'task', id: string): string[] {
  const both = [`${entity}.${id}.>`, `own.${entity}.${id}.>`];
  return entity === 'worker' ? [...both, `decision.${id}`] : both;
}

/** What the service says to itself, again and again. */
export const isHousekeeping = (type: string): boolean => type === 'replica.joined' || type === 'timer.fired';

type Fields = Readonly<Record<string, unknown>>;
export const isFields = (data: unknown): data is Fields => typeof data === 'object' && data !== null;

/** The fields that tell most of a type, in the order in which they are shown; all where the type has no row. */
const telling: Readonly<Record<string, readonly string[]>> = {
  'worker.registered': ['agent', 'profile', 'policy', 'queue'],
  'heartbeat.sent': [],
  'prompt.submitted': ['text'],
  'step.updated': ['step', 'status', 'title'],
  'task.claimed': ['task'],
  'task.completed': ['task', 'result'],
  'task.failed': ['task', 'reason'],
  'task.released': ['task'],
  'background.started': ['kind', 'id'],
  'background.finished': ['kind', 'id'],
  'input.requested': ['kind', 'message'],
  'input.received': ['kind', 'message'],
  'limit.reached': ['scope', 'until'],
  'limit.cleared': ['scope'],
  'stop.attempted': ['attempt', 'stopReason', 'output'],
  'session.ended': ['reason'],
  'task.created': ['title', 'queue'],
  'task.cancelled': ['reason'],
  'hook.registered': ['hook', 'type', 'name'],
  'iteration.started': ['iteration', 'maxIterations'],
  'iteration.completed': ['iteration', 'promise'],
  'checkpoint.saved': ['checkpoint', 'phase', 'step'],
  'attempt.accepted': ['attempt', 'replica'],
  'check.finished': ['check', 'outcome', 'reason'],
  'timer.fired': ['timer'],
  'escalation.resolved': ['verdict', 'by', 'prompt'],
  'escalation.acknowledged': ['by'],
  'escalation.notified': ['count', 'delivery'],
  'worker.retired': ['by'],
  'replica.joined': ['replica'],
  'replica.left': ['replica'],
};

/** What an entry says beside its type, in a few plain words; '' where the type says it all. Not yet cleaned. */
export function describeEntry(type: string, data: unknown): string {
  if (!isFields(data)) return `no JSON object: ${String(data)}`;
  if (type === 'tool.used') {
    const ok = data.ok === undefined ? '' : data.ok === true ? ' (ok)' : ' (failed)';
    const files = Array.isArray(data.files) && data.files.length > 0 ? `, files ${data.files.join(' ')}` : '';
    return `${spell(data.tool)}${ok}${files}`;
  }
  if (type === 'plan.updated' && Array.isArray(data.steps)) {
    const done = data.steps.filter((step) => isDone({ title: '', status: '', ...(step as object) }));
    return `${done.length} of ${data.steps.length} steps done`;
  }
  if (type === 'policy.set') return `policies ${Object.keys((data.policies ?? {}) as object).join(', ') || 'none'}`;
  const names = telling[type];
  if (names === undefined) return Object.keys(data).length === 0 ? '' : JSON.stringify(data);
  return names
    .filter((name) => data[name] !== undefined && data[name] !== null)
    .map((name) => spell(data[name]))
    .join('  ');
}

const spell = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
