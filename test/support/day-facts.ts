/**
 * What is true of a fleet at a moment, counted from the entries and decisions in its log and not from its fold: who holds
 * what since when, who waits for a person, what was used. Knows only what the recorded day contains.
 */
import type { Decision } from '../../machines/index.ts';
import type { DayEntry } from './recorded-day.ts';

export type WorkerFacts = {
  /** Its first entry. */
  readonly firstMs: number;
  lastSeenMs: number;
  /** Held tasks and the times of their claims, the newest last. */
  readonly held: Map<string, number>;
  escalation: { readonly sinceMs: number; readonly cause: string; readonly per?: unknown } | null;
  resolvedBy: string | null;
  askedMs: number | null;
  isTrying: boolean;
  hasTried: boolean;
  steps: readonly { readonly status: string }[];
  /** Decisions, oldest first. */
  readonly decisions: Decision[];
  /** Claims since the last attempt, and the last one before it. */
  claims: readonly string[];
  claimedBefore: string | null;
  /** When its state last changed, as far as the log says by itself. Null while it works or is judged. */
  movedMs: number | null;
  isEnded: boolean;
  policy: string;
  tokens: number;
  /** In billionths of a dollar. */
  nanoUsd: number;
  /** Usage up to the last grant of its budget. */
  granted: { readonly tokens: number; readonly nanoUsd: number };
};
export type TaskFacts = {
  movedMs: number;
  holder: string | null;
  heldMs: number | null;
  outcome: 'completed' | 'cancelled' | null;
  after: readonly string[];
  queue: string | null;
  escalation: { readonly sinceMs: number; readonly with: string | null } | null;
};

/** A silent worker is stale after this long. */
const staleAfterMs = 120_001;
/** Policies of the day that escalate a stale worker. */
const escalatesStale: ReadonlySet<string> = new Set(['default']);

export type Facts = ReturnType<typeof createFacts>;

export function createFacts() {
  const workers = new Map<string, WorkerFacts>();
  const tasks = new Map<string, TaskFacts>();
  const entries: DayEntry[] = [];
  let nowMs = 0;

  const workerOf = (id: string): WorkerFacts => {
    const known = workers.get(id);
    if (known !== undefined) return known;
    const fresh: WorkerFacts = {
      firstMs: nowMs,
      lastSeenMs: nowMs,
      held: new Map(),
      escalation: null,
      resolvedBy: null,
      askedMs: null,
      isTrying: false,
      hasTried: false,
      steps: [],
      decisions: [],
      claims: [],
      claimedBefore: null,
      movedMs: nowMs,
      isEnded: false,
      policy: 'default',
      tokens: 0,
      nanoUsd: 0,
      granted: { tokens: 0, nanoUsd: 0 },
    };
    workers.set(id, fresh);
    return fresh;
  };
  const taskOf = (id: string): TaskFacts => {
    const known = tasks.get(id);
    if (known !== undefined) return known;
    const fresh: TaskFacts = {
      movedMs: nowMs,
      holder: null,
      heldMs: null,
      outcome: null,
      after: [],
      queue: null,
      escalation: null,
    };
    tasks.set(id, fresh);
    return fresh;
  };
  const free = (worker: WorkerFacts, id: string, change: Partial<TaskFacts>) => {
    worker.held.delete(id);
    Object.assign(taskOf(id), { holder: null, heldMs: null, movedMs: nowMs, ...change });
  };
  const freeAll = (worker: WorkerFacts, change: Partial<TaskFacts>) => {
    for (const id of [...worker.held.keys()]) free(worker, id, change);
  };

  /** Workers that have become stale with a task, each at its own time. */
  const silence = (toMs: number) => {
    for (const [id, worker] of workers) {
      const sinceMs = worker.lastSeenMs + staleAfterMs;
      if (sinceMs > toMs || worker.isTrying || worker.held.size === 0 || !escalatesStale.has(worker.policy)) continue;
      worker.escalation ??= { sinceMs, cause: 'stale' };
      worker.movedMs = sinceMs;
      freeAll(worker, { movedMs: sinceMs, escalation: { sinceMs, with: id } });
    }
  };

  const decided = (decision: Decision) => {
    const { worker: id, action, cause, at } = decision;
    const worker = workerOf(id);
    worker.isTrying = false;
    worker.decisions.push(decision);
    worker.movedMs = nowMs;
    if (action !== 'escalate') worker.escalation = null;
    else worker.escalation ??= { sinceMs: Date.parse(at), cause, per: decision.verdicts.at(-1)?.input?.per };
    if (decision.decision === 'block') return;
    const sinceMs = worker.escalation?.sinceMs ?? Date.parse(at);
    if (action === 'escalate' || cause === 'capped')
      freeAll(worker, { escalation: { sinceMs: Date.parse(at), with: action === 'escalate' ? id : null } });
    else if (cause === 'complete' || cause === 'no-policy') freeAll(worker, { outcome: 'completed' });
    else if (cause === 'bypassed') freeAll(worker, {});
    if (action === 'escalate') worker.movedMs = sinceMs;
  };

  const byWorker = (id: string, type: string, data: DayEntry['data']) => {
    const worker = workerOf(id);
    worker.lastSeenMs = nowMs;
    const task = String(data.task);
    const isWork =
      type !== 'stop.attempted' && type !== 'heartbeat.sent' && type !== 'usage.reported' && !type.startsWith('input.');
    if (isWork && type !== 'worker.registered' && type !== 'session.ended') worker.movedMs = null;
    if (type === 'worker.registered') {
      worker.policy = String(data.policy);
      if (worker.isEnded)
        Object.assign(worker, { tokens: 0, nanoUsd: 0, granted: { tokens: 0, nanoUsd: 0 }, movedMs: nowMs });
      Object.assign(worker, { isEnded: false, escalation: null, resolvedBy: null, askedMs: null });
    } else if (type === 'task.claimed') {
      worker.held.set(task, nowMs);
      worker.claims = [...worker.claims, task];
      Object.assign(taskOf(task), { holder: id, heldMs: nowMs, escalation: null, movedMs: nowMs });
    } else if (type === 'task.released') free(worker, task, {});
    else if (type === 'task.completed') free(worker, task, { outcome: 'completed' });
    else if (type === 'plan.updated') worker.steps = data.steps as WorkerFacts['steps'];
    else if (type === 'input.requested') worker.askedMs = nowMs;
    else if (type === 'input.received') worker.askedMs = null;
    else if (type === 'prompt.submitted') Object.assign(worker, { escalation: null, resolvedBy: null, askedMs: null });
    else if (type === 'session.ended') {
      // A worker that had stopped stays so.
      const isStopped = worker.movedMs !== null && worker.decisions.at(-1)?.state === 'stopped';
      const movedMs = isStopped ? worker.movedMs : nowMs;
      Object.assign(worker, { isEnded: true, escalation: null, askedMs: null, movedMs });
      freeAll(worker, {});
    } else if (type === 'stop.attempted') {
      Object.assign(worker, {
        isTrying: true,
        hasTried: true,
        claimedBefore: worker.claims.at(-1) ?? worker.claimedBefore,
        claims: [],
      });
    } else if (type === 'usage.reported') {
      worker.tokens += Number(data.input ?? 0);
      worker.nanoUsd += Math.round(Number(data.usd ?? 0) * 1e9);
    }
  };

  const byPerson = (entity: string, id: string, { by, verdict }: DayEntry['data']) => {
    if (entity === 'task') {
      Object.assign(taskOf(id), { escalation: null, movedMs: nowMs, outcome: verdict === 'stop' ? 'cancelled' : null });
      return;
    }
    const worker = workerOf(id);
    if (worker.escalation?.per === 'session' && verdict === 'resume')
      worker.granted = { tokens: worker.tokens, nanoUsd: worker.nanoUsd };
    Object.assign(worker, { escalation: null, resolvedBy: by, movedMs: nowMs });
  };

  return {
    workers: workers as ReadonlyMap<string, WorkerFacts>,
    tasks: tasks as ReadonlyMap<string, TaskFacts>,
    entries: entries as readonly DayEntry[],
    nowMs: () => nowMs,
    add(entry: DayEntry): void {
      const { subject, data } = entry;
      const [, , area = '', name = '', third = '', ...rest] = subject.split('.');
      silence(entry.atMs);
      nowMs = entry.atMs;
      entries.push(entry);
      const type = area === 'own' ? rest.join('.') : [third, ...rest].join('.');
      if (area === 'decision') decided(data as unknown as Decision);
      else if (area === 'worker') byWorker(name, type, data);
      else if (area === 'task' && type === 'task.created')
        Object.assign(taskOf(name), { after: (data.after ?? []) as string[], queue: data.queue as string });
      else if (area === 'task') taskOf(name);
      else if (type === 'escalation.resolved') byPerson(name, third, data);
    },
  };
}
