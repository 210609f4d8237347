/**
 * A fleet of plain XState actors: the exported machines, run with XState's own functions and only the documented facts
 * (protocol.md §4). It looks up policies and facts like a user who runs the machines without the service. Rules that
 * involve several actors (refused claims, staleness, scopes of limits, forgetting) are not covered.
 */
import { type AnyStateMachine, createActor, type EventFromLogic, type InputFrom, type SnapshotFrom } from 'xstate';
import {
  type Decision,
  type HookResult,
  type Plan,
  readEntry,
  type TaskEntry,
  taskMachine,
  type WorkerEntry,
  workerMachine,
} from '../../machines/index.ts';
import type { GrantedAmounts } from '../../machines/values/usage.ts';

type Form = { persistence?: unknown; checks?: unknown[] };
type Row = { agent?: string; worker?: string; labels?: Record<string, string>; policy: string };

type Actor<Machine extends AnyStateMachine> = {
  send(event: EventFromLogic<Machine>): void;
  getSnapshot(): SnapshotFrom<Machine>;
};
/** Runs a machine. */
export type Run = <Machine extends AnyStateMachine>(machine: Machine, input: InputFrom<Machine>) => Actor<Machine>;
type Worker = Actor<typeof workerMachine>;
type Task = Actor<typeof taskMachine>;

/**
 * Two ways to run the package's machines. The third, XState's `transition`, is compared with the
 * fold at every step in `test/unit/machines/step.test.ts`.
 */
export const runs = {
  createActor: (machine, input) => createActor(machine, { input } as never).start(),
  /** Like a user who persists actors: each event is sent to an actor restored from a store. */
  'createActor from a stored snapshot'(machine, input) {
    const start = (snapshot?: unknown) => createActor(machine, { input, snapshot } as never).start();
    let actor = start();
    return {
      send(event) {
        const stored = JSON.parse(JSON.stringify(actor.getPersistedSnapshot())) as unknown;
        actor.stop();
        actor = start(stored);
        actor.send(event);
      },
      getSnapshot: () => actor.getSnapshot() as SnapshotFrom<typeof machine>,
    };
  },
} satisfies Record<string, Run>;

/** A copy, because a restored value is equal but not identical. */
const isOther = (value: unknown, before: unknown): boolean =>
  value !== before && JSON.stringify(value) !== JSON.stringify(before);

export type PlainActors = {
  /**
   * @param place the entry's sequence; default: the number of entries sent so far
   * @returns why the entry is invalid, or null
   */
  send(atMs: number, subject: string, data: unknown, place?: number): string | null;
  /** Decisions, in the order in which attempts ended. */
  readonly results: readonly (Decision | HookResult)[];
  /** Null if no entry has named it. */
  task(id: string): { readonly state: string; readonly worker: string | null } | null;
  worker(id: string): { readonly state: string; readonly tasks: readonly string[]; readonly plan: Plan } | null;
};

type Today = { day: number; tokens: number; nanoUsd: number; amounts?: GrantedAmounts };

export function createPlainActors(run: Run = runs.createActor): PlainActors {
  const workers = new Map<string, Worker>();
  const tasks = new Map<string, Task>();
  const depths = new Map<string, number>();
  const results: (Decision | HookResult)[] = [];
  let policies: Record<string, Form> = {};
  let assign: Row[] = [];
  let dayBudget: { tokens?: number; usd?: number } | undefined;
  let today: Today = { day: 0, tokens: 0, nanoUsd: 0 };
  let nowMs = 0;
  let seq = 0;

  const workerOf = (id: string): Worker => {
    const known = workers.get(id);
    if (known !== undefined) return known;
    const actor = run(workerMachine, { fleet: 'main', worker: id, atMs: nowMs });
    workers.set(id, actor);
    return actor;
  };
  const taskOf = (id: string, queue: string | null): Task => {
    const known = tasks.get(id);
    if (known !== undefined) return known;
    const actor = run(taskMachine, { fleet: 'main', task: id, queue });
    tasks.set(id, actor);
    return actor;
  };
  const contextOf = (id: string) => workerOf(id).getSnapshot().context.worker;
  const contextOfTask = (id: string) => tasks.get(id)?.getSnapshot().context;

  const policyOf = (id: string): Form => {
    const worker = contextOf(id);
    const row = assign.find(
      (it) =>
        (it.agent ?? worker.agent) === worker.agent &&
        (it.worker ?? id) === id &&
        Object.entries(it.labels ?? {}).every(([key, value]) => worker.labels[key] === value) &&
        policies[it.policy] !== undefined,
    );
    if (row !== undefined) return policies[row.policy] as Form;
    const own = policies[worker.policy ?? ''] ?? policies.default ?? {};
    const held = worker.tasks.map((task) => policies[contextOfTask(task)?.policy ?? ''] ?? own);
    const last = held.at(-1) ?? own;
    const all = [...new Set(held)];
    return all.length < 2 ? last : { ...last, checks: all.flatMap((it) => it.checks ?? []) };
  };
  const queueOf = (id: string): string => {
    const { persistence } = policyOf(id) as { persistence?: { queue?: string } };
    return contextOf(id).queue ?? persistence?.queue ?? 'main';
  };
  const isReady = (task: Task): boolean => {
    const { value, context } = task.getSnapshot();
    return value === 'idle' && context.after.every((it) => contextOfTask(it)?.outcome === 'completed');
  };
  const usedToday = () => {
    const day = Math.floor(nowMs / 86_400_000);
    if (today.day !== day) today = { day, tokens: 0, nanoUsd: 0 };
    return today;
  };
  const factsOf = (id: string) => {
    const queue = queueOf(id);
    const contexts = [...tasks.values()].filter(isReady).map((it) => it.getSnapshot().context);
    const ready = contexts.filter((it) => it.queue === queue).sort((a, b) => b.priority - a.priority);
    return {
      policy: policyOf(id),
      pendingTasks: ready.length + (depths.get(queue) ?? 0),
      nextTasks: ready.slice(0, 3),
      day: dayBudget === undefined ? null : { budget: dayBudget, used: usedToday(), amounts: usedToday().amounts },
      tasks: contextOf(id).tasks.map((task) => {
        const { hooks = [], iteration = null, checkpoints = [], usage } = contextOfTask(task) ?? {};
        return { task, hooks, iteration, usage, phase: checkpoints.findLast((it) => it.phase !== null)?.phase ?? null };
      }),
    };
  };

  const sendTask = (id: string, type: string, data: object, more: object = {}) => {
    const actor = tasks.get(id);
    if (actor === undefined) return;
    const holder = workers.get(actor.getSnapshot().context.worker ?? '')?.getSnapshot().context.worker;
    const before = actor.getSnapshot().context.validated;
    const facts = { files: holder?.files, filesUnknown: holder?.filesUnknown, labels: holder?.labels, ...more };
    actor.send({ type, data, seq, atMs: nowMs, facts, ...more } as never);
    const { validated } = actor.getSnapshot().context;
    if (isOther(validated, before)) results.push(...validated.map((it) => it.result));
  };
  const sendWorker = (id: string, type: string, data: object, more: object = {}) => {
    const actor = workerOf(id);
    const before = contextOf(id);
    actor.send({ type, data, seq, atMs: nowMs, facts: { ...factsOf(id), ...more } } as never);
    const after = contextOf(id);
    const { value } = actor.getSnapshot();
    if (after.attempt !== null && before.attempt === null)
      for (const task of after.tasks) sendTask(task, 'attempt.opened', {});
    if (after.lastDecision !== null && isOther(after.lastDecision, before.lastDecision)) {
      results.push(after.lastDecision);
      for (const task of before.tasks) {
        sendTask(task, 'attempt.opened', {});
        sendTask(task, 'attempt.closed', {}, { disposition: after.lastDisposition, escalation: null });
      }
    }
    if (type !== 'task.lost')
      for (const task of before.tasks.filter((it) => !after.tasks.includes(it))) {
        const steps = before.plan.filter((step) => step.task === task);
        sendTask(task, 'steps.returned', {}, { steps });
        if (type === 'session.ended' || type === 'worker.retired') sendTask(task, 'task.released', { task });
      }
    const isWork = ['prompt.submitted', 'tool.started', 'tool.used', 'plan.updated', 'step.updated', 'task.claimed'];
    if (isWork.includes(type) && value.state === 'working')
      for (const task of after.tasks)
        if (tasks.get(task)?.getSnapshot().value === 'blocked') sendTask(task, 'work.resumed', {});
  };

  /** When an open attempt is evaluated again, or null. */
  const wakeMs = (id: string): number | null => {
    const { attempt, tasks: held, activeMs } = contextOf(id);
    if (attempt === null) return null;
    if (attempt.pending !== null) return attempt.pending.deadlineMs;
    const { holdUntilMs, idleLimitMs } = attempt;
    return held.length > 0 || idleLimitMs === null ? holdUntilMs : Math.min(holdUntilMs, activeMs + idleLimitMs);
  };
  const wakeHeld = () => {
    for (const id of workers.keys())
      if (contextOf(id).attempt?.isHeld && factsOf(id).pendingTasks > 0)
        sendWorker(id, 'timer.fired', { timer: 'attempt' });
  };
  const advance = (toMs: number) => {
    for (;;) {
      const due = [...workers.keys()].map((id) => ({ id, atMs: wakeMs(id) })).filter((it) => it.atMs !== null);
      const next = due.sort((a, b) => (a.atMs as number) - (b.atMs as number))[0];
      const evaluation = [...tasks].flatMap(([id, it]) =>
        it.getSnapshot().context.evaluations.map(({ attempt, pending }) => ({ id, attempt, atMs: pending.deadlineMs })),
      )[0];
      if (evaluation !== undefined && evaluation.atMs <= toMs) {
        nowMs = evaluation.atMs;
        sendTask(evaluation.id, 'timer.fired', { timer: 'evaluation', attempt: evaluation.attempt });
      } else if (next !== undefined && (next.atMs as number) <= toMs) {
        nowMs = next.atMs as number;
        sendWorker(next.id, 'timer.fired', { timer: 'attempt' });
        wakeHeld();
      } else break;
    }
    nowMs = Math.max(nowMs, toMs);
  };

  const foldTask = ({ id, type, data }: TaskEntry) => {
    const creating = ['task.created', 'hook.registered', 'iteration.started', 'checkpoint.saved'];
    if (!tasks.has(id) && !creating.includes(type)) return;
    const holder = taskOf(id, null).getSnapshot().context.worker;
    sendTask(id, type, data);
    if (holder === null) return;
    if (type === 'task.created' && data.plan !== undefined)
      workerOf(holder).send({
        type: 'task.planned',
        data: { task: id },
        seq,
        atMs: nowMs,
        facts: { plan: data.plan },
      } as never);
    if (type === 'task.cancelled') sendWorker(holder, 'task.lost', { task: id });
    if (type === 'iteration.started' || type === 'iteration.advanced') workerOf(holder).send({ type: 'files.cleared' });
  };
  const foldWorker = ({ id, type, data }: WorkerEntry) => {
    workerOf(id);
    const { task } = data as { task?: string };
    if (type === 'task.claimed') {
      const actor = taskOf(task as string, queueOf(id));
      const { plan } = actor.getSnapshot().context;
      sendTask(task as string, type, data, { worker: id });
      sendWorker(id, type, data, { plan });
    } else if (task !== undefined) {
      if (!contextOf(id).tasks.includes(task)) return;
      sendTask(task, type, data);
      sendWorker(id, type, data);
    } else {
      const last = contextOf(id).tasks.at(-1);
      const { usageSource } = contextOf(id);
      sendWorker(id, type, data);
      // Only reports from the worker's first source count.
      if (type === 'usage.reported' && data.source !== undefined && (usageSource ?? data.source) !== data.source)
        return;
      if (last !== undefined && (type === 'usage.reported' || type === 'stop.attempted')) sendTask(last, type, data);
      if (type !== 'usage.reported') return;
      const { input = 0, output = 0, cacheWrite = 0, usd = 0 } = data;
      const { tokens, nanoUsd, ...granted } = usedToday();
      today = { ...granted, tokens: tokens + input + output + cacheWrite, nanoUsd: nanoUsd + Math.round(usd * 1e9) };
    }
  };

  return {
    results,
    send(atMs, subject, fields, place = seq + 1) {
      seq = place;
      const text = JSON.stringify(fields ?? {});
      const entry = readEntry(`stopgate.main.${subject}`, text, text.length);
      if (entry === null) return null;
      if (!('data' in entry)) return entry.message;
      advance(Math.max(atMs, nowMs));
      const { area, id, type } = entry;
      if (area === 'worker') foldWorker(entry);
      else if (area === 'task') foldTask(entry);
      else if (area === 'queue') depths.set(id, entry.data.pending);
      else if (area === 'ownWorker') {
        const isOperator = type.startsWith('worker.') || type === 'input.answered' || type.startsWith('escalation.');
        // Resuming such a worker grants the daily budget once more, for all workers.
        if (type === 'escalation.resolved' && entry.data.verdict === 'resume')
          if (contextOf(id).escalation?.budget === 'day')
            today = { ...usedToday(), tokens: 0, nanoUsd: 0, amounts: entry.data.grant ?? {} };
        if (type !== 'timer.fired' && (isOperator || workers.has(id))) sendWorker(id, type, entry.data);
      } else if (area === 'ownTask') {
        if (type !== 'timer.fired') sendTask(id, type, entry.data);
      } else if (type === 'policy.set')
        ({
          policies,
          assign = [],
          budget: dayBudget,
        } = fields as { policies: typeof policies; assign?: Row[]; budget?: typeof dayBudget });
      wakeHeld();
      return null;
    },
    task(id) {
      const snapshot = tasks.get(id)?.getSnapshot();
      return snapshot === undefined ? null : { state: snapshot.value, worker: snapshot.context.worker };
    },
    worker(id) {
      if (!workers.has(id)) return null;
      const { value, context } = workerOf(id).getSnapshot();
      return { state: value.state, tasks: context.worker.tasks, plan: context.worker.plan };
    },
  };
}
