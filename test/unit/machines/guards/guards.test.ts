/** Tests each guard as a pure function of a worker and its open attempt. */
import { expect, test } from 'vitest';
import {
  type Attempt,
  builtInPolicy,
  type GuardName,
  type GuardScope,
  guardNames,
  guards,
  policySetSchema,
} from '../../../../machines/index.ts';
import { createAttempt } from '../../../../machines/worker/attempt.ts';
import { createWorkerContext, type WorkerContext } from '../../../../machines/worker/context.ts';

type Given = {
  readonly worker?: Partial<WorkerContext>;
  readonly policy?: object;
  readonly fields?: Attempt['fields'];
  readonly facts?: Partial<Attempt['facts']>;
};

function scopeOf({ worker = {}, policy = {}, fields = {}, facts = {} }: Given): GuardScope {
  const { policies } = policySetSchema.parse({ policies: { default: policy } });
  const context = { ...createWorkerContext({ fleet: 'main', worker: 'w1', atMs: 0 }), ...worker };
  const attempt = createAttempt(context, {
    attempt: 'a1',
    seq: 7,
    fields,
    inForce: { name: 'default', seq: 1, notes: [], policy: policies.get('default') ?? builtInPolicy },
    facts: {
      nowMs: 60_000,
      limited: false,
      queue: 'main',
      pendingTasks: 0,
      nextTasks: [],
      tasks: [],
      day: null,
      ...facts,
    },
  });
  const scope: GuardScope = { worker: context, attempt, resultOf: (guard) => guards[guard](scope) };
  return scope;
}

const persistence = { persistence: 'default' };
const hook = { hook: 'H', enabled: true, form: { type: 'tdd' }, metadata: null } as const;
const used = (tokens: number, nanoUsd = 0) => ({ tokens, nanoUsd, turns: 1, sinceMs: 0, granted: null });
const task = { task: 'T-1', hooks: [hook], iteration: null, phase: null, usage: used(0) };
const planned = { checks: [{ plan: {} }] };
const open = { plan: [{ title: 'a', status: 'pending' }] };
const blockedTwice = { ...open, failureStreak: { reason: '1 of 1 plan steps remain: a', count: 2 } };

const rows: readonly (Given & { readonly guard: GuardName; readonly gives: string })[] = [
  { guard: 'retired', gives: 'pass' },
  { guard: 'retired', worker: { ended: 'ended' }, gives: 'allow complete retired' },
  { guard: 'escalated', gives: 'pass' },
  { guard: 'bypass', gives: 'pass' },
  { guard: 'bypass', fields: { stopReason: 'user_interrupt' }, gives: 'allow complete bypassed' },
  { guard: 'bypass', worker: { budgetExhausted: true }, gives: 'allow complete bypassed' },
  {
    guard: 'bypass',
    policy: { budget: { tokens: 10 } },
    gives: 'pass',
    worker: { usage: { session: used(9), prompt: used(9) } },
  },
  {
    guard: 'bypass',
    policy: { budget: { tokens: 10 } },
    gives: 'allow complete bypassed',
    worker: { usage: { session: used(10), prompt: used(0) } },
  },
  {
    guard: 'bypass',
    policy: { budget: { tokens: 10, per: 'prompt' } },
    gives: 'pass',
    worker: { usage: { session: used(10), prompt: used(0) } },
  },
  {
    guard: 'bypass',
    policy: { budget: { usd: 0.3 }, onBudget: 'escalate' },
    gives: 'allow escalate budget',
    worker: { usage: { session: used(0, 300_000_000), prompt: used(0) } },
  },
  {
    guard: 'bypass',
    policy: { budget: { turns: 1 } },
    worker: { usage: { session: used(0), prompt: used(0) } },
    gives: 'pass',
  },
  { guard: 'bypass', policy: { budget: { time: '1m' } }, gives: 'allow complete bypassed' },
  { guard: 'bypass', policy: { budget: { time: '61s' } }, gives: 'pass' },
  { guard: 'bypass', policy: { budget: { tokens: 1, per: 'task' } }, gives: 'pass' },
  {
    guard: 'bypass',
    policy: { budget: { tokens: 1, per: 'task' } },
    gives: 'allow complete bypassed',
    facts: { tasks: [{ ...task, usage: used(1) }] },
  },
  {
    guard: 'bypass',
    gives: 'allow complete bypassed',
    facts: { day: { budget: { tokens: 5 }, used: { tokens: 5, nanoUsd: 0 } } },
  },
  { guard: 'limited', gives: 'pass' },
  { guard: 'limited', facts: { limited: true }, gives: 'allow continue limited' },
  { guard: 'waiting', gives: 'pass' },
  { guard: 'waiting', worker: { awaitsInput: true }, gives: 'allow continue waiting' },
  { guard: 'promise', fields: { output: '<promise>BLOCKED</promise>' }, gives: 'pass' },
  {
    guard: 'promise',
    policy: { promises: true },
    fields: { output: '<promise>BLOCKED</promise>' },
    gives: 'allow escalate escalated',
  },
  { guard: 'checks', worker: open, gives: 'pass' },
  { guard: 'checks', worker: open, policy: planned, gives: 'block continue incomplete' },
  { guard: 'checks', policy: planned, gives: 'pass' },
  { guard: 'checks', policy: { checks: [{ plan: { required: true } }] }, gives: 'block continue incomplete' },
  { guard: 'checks', policy: { checks: [{ command: 'tests' }] }, gives: 'awaits tests' },
  { guard: 'hooks', gives: 'pass' },
  { guard: 'hooks', facts: { tasks: [task] }, gives: 'block continue incomplete' },
  {
    guard: 'hooks',
    facts: { tasks: [task] },
    gives: 'pass',
    fields: { validation: [{ rule: 'tests_pass', passed: true }] },
  },
  { guard: 'retries', worker: { ...open, retryCount: 2 }, policy: planned, gives: 'pass' },
  { guard: 'retries', worker: { retryCount: 3 }, policy: planned, gives: 'pass' },
  { guard: 'retries', worker: { ...open, retryCount: 3 }, policy: planned, gives: 'allow complete capped' },
  { guard: 'retries', worker: { retryCount: 3 }, facts: { tasks: [task] }, gives: 'allow complete capped' },
  {
    guard: 'retries',
    worker: { ...open, retryCount: 3 },
    policy: { ...planned, onCap: 'escalate' },
    gives: 'allow escalate capped',
  },
  { guard: 'stuck', worker: blockedTwice, policy: planned, gives: 'pass' },
  { guard: 'stuck', worker: blockedTwice, policy: { ...planned, stuckAfter: 4 }, gives: 'pass' },
  { guard: 'stuck', worker: blockedTwice, policy: { ...planned, stuckAfter: 3 }, gives: 'allow escalate stuck' },
  {
    guard: 'stuck',
    policy: { ...planned, stuckAfter: { times: 3 } },
    gives: 'pass',
    worker: { ...blockedTwice, plan: [...open.plan, { title: 'b', status: 'done' }] },
  },
  {
    guard: 'stuck',
    policy: { ...planned, stuckAfter: { times: 3, mask: true } },
    gives: 'allow escalate stuck',
    worker: { ...open, failureStreak: { reason: '<number> of <number> plan steps remain: a', count: 2 } },
  },
  { guard: 'pending', facts: { pendingTasks: 1 }, gives: 'pass' },
  { guard: 'pending', policy: persistence, gives: 'pass' },
  { guard: 'pending', policy: persistence, facts: { pendingTasks: 1 }, gives: 'block continue pending-tasks' },
  {
    guard: 'pending',
    facts: { pendingTasks: 1 },
    worker: { keepAlives: 2 },
    policy: { ...persistence, keepAlives: 2 },
    gives: 'allow complete capped',
  },
  { guard: 'idle', gives: 'pass' },
  { guard: 'idle', policy: persistence, gives: 'block continue idle' },
  { guard: 'idle', policy: persistence, facts: { nowMs: 600_000 }, gives: 'allow complete idle-timeout' },
  { guard: 'idle', policy: { persistence: { hold: '1m' } }, gives: 'hold' },
  { guard: 'done', gives: 'allow complete no-policy' },
  { guard: 'done', policy: planned, gives: 'allow complete complete' },
];

test.each(rows)('$guard: $gives, with worker $worker, policy $policy, fields $fields', ({ guard, gives, ...given }) => {
  const result = guards[guard](scopeOf(given));
  const shown =
    result.kind === 'decides'
      ? `${result.ruling.decision} ${result.ruling.action} ${result.ruling.cause}`
      : `${result.kind}${result.kind === 'awaits' ? ` ${result.check.name}` : ''}`;
  expect(shown).toBe(gives);
});

test('every guard is covered, in the order of the protocol', () => {
  expect([...new Set(rows.map(({ guard }) => guard))]).toEqual([...guardNames]);
  expect(Object.keys(guards)).toEqual([...guardNames]);
});
