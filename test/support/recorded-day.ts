/**
 * A day of a fleet as its log: agents that work, ask, fail, fall silent and come back, people who answer late, budgets
 * that are raised, and a service that judges. The same seed gives the same log.
 */
import { readFileSync } from 'node:fs';
import {
  createFleet,
  type Fleet,
  type FleetWatcher,
  type FoldStep,
  firstReady,
  foldDecision,
  foldEntry,
  nextDeadline,
  readEntry,
  viewWorker,
} from '../../machines/index.ts';
import { createRandom, type Random } from '../simulation/random.ts';

export type DayEntry = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
};

const minute = 60_000;
const startMs = Date.parse('2026-03-02T00:00:00Z');
const dayMs = 24 * 60 * minute;

/** What runners print, with what failed by it. */
const outputs = new URL('../unit/machines/replay/outputs/', import.meta.url);
export const failures: Readonly<Record<string, string>> = {
  playwright: 'login.spec.ts fails in e2e',
  pytest: 'test_login.py fails in e2e',
  tsc: "e2e: a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.",
  eslint: "e2e: a.js:1:5 error 'y' is assigned a value but never used no-unused-vars",
};
export const outputOf = (name: string): string => readFileSync(new URL(`${name}.txt`, outputs), 'utf8');

const check = { command: 'e2e' };
const policiesWith = (usd: number) => ({
  policies: {
    default: { checks: [check], retries: 3, promises: true, onStale: 'escalate' },
    strict: { checks: [check], retries: 1, promises: true, onCap: 'escalate', stuckAfter: 3 },
    spender: { checks: [{ plan: {} }], retries: 2, budget: { usd: 1, per: 'session' }, onBudget: 'escalate' },
    counter: { checks: [{ plan: {} }], budget: { tokens: 60_000, per: 'session' }, promises: true },
    patient: { promises: true, persistence: { idle: '40m' } },
  },
  budget: { usd, per: 'day' },
});
const policyNames = ['default', 'strict', 'spender', 'counter', 'patient'];
const people = ['Ann', 'Bob'];

/** @param record called after each entry, when the fleet has folded it */
export function playDay(seed: number, watcher: FleetWatcher, record: (fleet: Fleet, entry: DayEntry) => void): void {
  const random = createRandom(seed);
  const fleet = createFleet('main');
  fleet.watcher = watcher;
  const log = createLog(fleet, record);
  log.append(startMs, 'own.fleet.main.replica.joined', { replica: 'r1', rules: [1, 1] });
  log.append(startMs, 'own.fleet.main.policy.set', policiesWith(4));
  const workers = Array.from({ length: 12 }, (_, index) => `w${index + 1}`);
  const nextMs = new Map(workers.map((worker, index) => [worker, startMs + (index + 1) * 3 * minute]));
  let tasks = 0;
  const raisedMs = startMs + dayMs / 2;
  for (;;) {
    const [worker, atMs] = [...nextMs].reduce((first, other) => (other[1] < first[1] ? other : first));
    if (atMs > startMs + dayMs) return;
    if (atMs >= raisedMs && fleet.policySeq <= 2) log.append(raisedMs, 'own.fleet.main.policy.set', policiesWith(400));
    log.advance(atMs);
    const nowMs = Math.max(atMs, fleet.nowMs);
    if (random.chance(0.15)) {
      tasks += 1;
      log.append(nowMs, `task.T-${tasks}.task.created`, {
        title: `Task ${tasks}`,
        queue: 'main',
        ...after(random, tasks),
      });
    }
    // A later entry about a task that nobody has claimed yet.
    if (random.chance(0.1) && tasks > 0)
      log.append(nowMs, `task.T-${tasks}.hook.registered`, { hook: `h${tasks}`, type: 'remote', name: 'review' });
    if (random.chance(0.15)) answer(random, fleet, log, nowMs);
    act(random, { fleet, log, nowMs, worker });
    // Now and then an agent is silent for hours.
    nextMs.set(
      worker,
      nowMs + (random.chance(0.04) ? random.int(100, 300) : random.int(1, 14)) * minute + random.int(0, 59_000),
    );
  }
}

const after = (random: Random, tasks: number) => (tasks > 3 && random.chance(0.2) ? { after: [`T-${tasks - 1}`] } : {});

type Log = ReturnType<typeof createLog>;

/** The service: stores entries, folds them, answers checks some seconds later, and stores decisions and timers. */
function createLog(fleet: Fleet, record: (fleet: Fleet, entry: DayEntry) => void) {
  const random = createRandom(7);
  let seq = 0;
  const due: { readonly atMs: number; readonly tail: string; readonly data: object }[] = [];
  const note = (atMs: number, { outcomes }: FoldStep) => {
    for (const outcome of outcomes) {
      if (outcome.kind === 'checkAwaited') {
        const { worker, attempt } = outcome;
        due.push({
          atMs: atMs + random.int(2_000, 90_000),
          tail: `own.worker.${worker}.check.finished`,
          data: { attempt, check: 'e2e', ...resultOf(random) },
        });
        due.sort((a, b) => a.atMs - b.atMs);
      }
      if (outcome.kind === 'decided')
        store(atMs, `decision.${outcome.decision.worker}`, { ...outcome.decision, replica: 'r1' });
    }
  };
  const store = (atMs: number, tail: string, data: object) => {
    seq += 1;
    const subject = `stopgate.main.${tail}`;
    const text = JSON.stringify(data);
    if (tail.startsWith('decision.')) note(atMs, foldDecision(fleet, data as never));
    else {
      const entry = readEntry(subject, text, Buffer.byteLength(text));
      if (entry === null || !('data' in entry)) throw new Error(`no entry: ${tail} ${text}`);
      const step = foldEntry(fleet, { seq, atMs, entry, owner: null });
      record(fleet, { seq, atMs, subject, data: JSON.parse(text) });
      note(atMs, step);
      return;
    }
    record(fleet, { seq, atMs, subject, data: JSON.parse(text) });
  };
  const advance = (toMs: number) => {
    for (;;) {
      const timer = nextDeadline(fleet);
      const [result] = due;
      if (timer !== null && timer.atMs <= toMs && timer.atMs <= (result?.atMs ?? toMs))
        store(timer.atMs, 'own.worker.w1.timer.fired', { timer: timer.kind });
      else if (result !== undefined && result.atMs <= toMs) {
        due.shift();
        store(result.atMs, result.tail, result.data);
      } else return;
    }
  };
  const append = (atMs: number, tail: string, data: object) => {
    advance(atMs);
    store(atMs, tail, data);
  };
  return { append, advance };
}

function resultOf(random: Random): object {
  if (random.chance(0.4)) return { outcome: 'pass', tookMs: 900 };
  if (random.chance(0.15)) return { outcome: 'error', reason: 'the browser could not start', tookMs: 40 };
  const feedback = outputOf(random.pick(Object.keys(failures)));
  return { outcome: 'fail', reason: 'Command e2e failed (exit 1)', feedback, tookMs: 48_000 };
}

type Scene = { readonly fleet: Fleet; readonly log: Log; readonly nowMs: number; readonly worker: string };

/** A person answers the oldest escalation, of a worker or of a task that was left. */
function answer(random: Random, fleet: Fleet, log: Log, nowMs: number): void {
  const [first] = fleet.escalated.values();
  if (first === undefined) return;
  const verdict = random.chance(0.8) ? 'resume' : 'stop';
  log.append(nowMs, `own.${first.entity}.${first.id}.escalation.resolved`, { by: random.pick(people), verdict });
}

/** One thing that an agent does. */
function act(random: Random, scene: Scene): void {
  const { fleet, log, nowMs, worker } = scene;
  const say = (type: string, data: object) => log.append(nowMs, `worker.${worker}.${type}`, data);
  const number = Number(worker.slice(1));
  const view = viewWorker(fleet, worker, nowMs);
  if (view === null || view.ended !== null)
    return void say('worker.registered', { agent: 'claude', policy: policyNames[number % policyNames.length] });
  if (view.attempt !== null) return;
  const stop = (output: string) => say('stop.attempted', { attempt: `a${nowMs}`, output });
  if (view.inputs.length > 0) return void say('input.received', {});
  if (view.escalation !== null) {
    if (random.chance(0.2)) stop('Which of the two keys? <promise>ESCALATE</promise>');
    else if (random.chance(0.1)) say('prompt.submitted', { text: 'Use the second' });
    return;
  }
  // A third of the agents reports no dollars.
  if (random.chance(0.5))
    say(
      'usage.reported',
      number % 3 === 0 ? { input: random.int(100, 9_000) } : { input: random.int(100, 9_000), usd: 0.3 - 0.1 },
    );
  if (view.tasks.length === 0 && random.chance(0.7)) {
    const free = firstReady(fleet, 'main', new Set());
    if (free !== null) return void say('task.claimed', { task: free });
  }
  const [task] = view.tasks;
  const kind = random.int(0, 13);
  if (kind === 0) say('heartbeat.sent', {});
  else if (kind === 1) say('input.requested', { kind: 'question', message: 'Which branch?' });
  else if (kind === 2)
    say('plan.updated', {
      steps: [1, 2, 3].map((step) => ({ title: `Step ${step}`, status: random.chance(0.6) ? 'completed' : 'pending' })),
    });
  else if (kind === 3 && task !== undefined) say('task.released', { task });
  else if (kind === 4 && task !== undefined) say('task.completed', { task });
  else if (kind === 5 && random.chance(0.3)) say('session.ended', {});
  else if (kind === 6) stop('Which of the two keys? <promise>ESCALATE</promise>');
  else if (kind <= 10) stop('I am done.');
  else say('tool.used', { tool: 'Edit', ok: true, files: ['src/login.ts'] });
}
